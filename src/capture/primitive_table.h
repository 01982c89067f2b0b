// MLX primitive classes -> ops. The one place that knows MLX's classes and their state.
#pragma once

#include <optional>
#include <string>

#include "ir/attribute.h"
#include "ir/op.h"
#include "mlx/array.h"
#include "mlx/primitives.h"

namespace autoperfect {

// "Multiply" for mlx::core::Multiply, "fast::RoPE" for mlx::core::fast::RoPE; empty for classes of other
// namespaces. Read from the run-time type: most classes do not export theirs, and name() does not tell Sum
// from Max.
std::string class_name(const mlx::core::Primitive& primitive);

struct MappedPrimitive {
  Op op = Op::opaque;
  Attributes attributes;
};
// The op of a single-output primitive; nothing when it has none. Whether the types agree is for the caller to
// check.
std::optional<MappedPrimitive> map_primitive(const mlx::core::array& output);

// The op of a primitive that only replays: its own barrier, or `opaque`.
Op barrier_of(const mlx::core::Primitive& primitive);

// What it makes of a cheap constant is one: so are the parts of the functions MLX keeps whole on a GPU, which
// is why those functions are.
bool stays_cheap(Op op);
bool is_view(const mlx::core::Primitive& primitive);

}  // namespace autoperfect

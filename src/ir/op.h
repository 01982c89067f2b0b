// One table of all ops (ops.def) behind small look-ups.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace autoperfect {

// The classification map. composite: a library function that canonicalize() lowers to primitives.
enum class OpClass : uint8_t {
  source,
  elementwise,
  reduction,
  gemm,
  view,
  indexing,
  scan,
  composite,
  barrier
};

enum class Op : uint16_t {
#define OP(id, text, op_class, arity) id,
#include "ir/ops.def"
#undef OP
};

std::string_view name(Op op);
std::optional<Op> parse_op(std::string_view text);
OpClass class_of(Op op);
int arity(Op op);  // -1: any number of operands
std::string_view name(OpClass op_class);
std::vector<std::string_view> all_op_names();

// a op b == b op a for every dtype, NaN included.
bool is_commutative(Op op);

}  // namespace autoperfect

// Data a program captured: small constants become values of the graph, everything else an input with a
// content hash.
#pragma once

#include <optional>
#include <string>

#include "capture/capture.h"

namespace autoperfect {

// The `value` attribute that stands for a one-element array, bit for bit; nothing when it has no exact
// spelling.
std::optional<AttributeValue> exact_constant(const mlx::core::array& data);

// 32 hex digits over dtype, shape and elements in row order.
std::string content_hash(const mlx::core::array& data);

}  // namespace autoperfect

// Arithmetic on shapes, overflow included: sizes may come from an untrusted text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace autoperfect {

constexpr int max_rank = 32;
constexpr int64_t max_elements = int64_t{1} << 57;  // of one tensor: its bytes fit 64 bits in any dtype

// Elements of a shape; nothing when a size is negative, the rank too high or the product too large.
std::optional<int64_t> checked_elements(const Shape& shape);

// NumPy's rule, trailing dimensions aligned; nothing when the shapes do not broadcast together.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);
bool broadcasts_to(const Shape& from, const Shape& to);

std::vector<int64_t> row_major_strides(const Shape& shape);  // in elements

std::string to_string(const Shape& shape);      // "[4,8]"
std::string to_string(const TensorType& type);  // "f32[4,8]"

}  // namespace autoperfect

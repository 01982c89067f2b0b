#include "ir/shape.h"

#include <algorithm>

namespace autoperfect {

std::optional<int64_t> checked_elements(const Shape& shape) {
  if (shape.size() > max_rank) return std::nullopt;
  // Sizes are limited together before any of them may be zero: strides of an empty tensor must not overflow
  // either.
  int64_t product = 1;
  bool empty = false;
  for (auto size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) empty = true;
    if (size > 1 && product > max_elements / size) return std::nullopt;
    product *= std::max<int64_t>(size, 1);
  }
  return empty ? 0 : product;
}

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const auto& longer = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  size_t shift = longer.size() - shorter.size();
  for (size_t d = 0; d < shorter.size(); ++d) {
    auto& size = out[shift + d];
    if (size == 1) {
      size = shorter[d];
    } else if (shorter[d] != 1 && shorter[d] != size) {
      return std::nullopt;
    }
  }
  return out;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  auto both = broadcast_shapes(from, to);
  return both && *both == to;
}

std::vector<int64_t> row_major_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    strides[d] = stride;
  return strides;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d > 0) text += ',';
    text += std::to_string(shape[d]);
  }
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(name(type.dtype)) + to_string(type.shape);
}

}  // namespace autoperfect

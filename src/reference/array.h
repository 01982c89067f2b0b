// What the executors compute with: one value over a whole shape, floats as doubles, complex numbers as two
// and integers as int64, all exact.
#pragma once

#include <vector>

#include "ir/shape.h"
#include "reference/reference.h"
#include "reference/tensor.h"

namespace autoperfect {

struct Array {
  TensorType type;
  std::vector<double> reals;        // of floating types and c64
  std::vector<double> imaginaries;  // of c64
  std::vector<int64_t> integers;    // of integers and bool; u64 as its bits

  explicit Array(TensorType of = {});
  // In the header: an executor does little else.
  Scalar at(int64_t element) const {
    if (type.dtype == Dtype::c64) return {reals[element], 0, imaginaries[element]};
    if (is_floating(type.dtype)) return {reals[element], 0};
    return {0, integers[element]};
  }
  void set(int64_t element, Scalar value) {
    if (is_floating(type.dtype)) {
      reals[element] = value.real;
    } else if (type.dtype == Dtype::c64) {
      reals[element] = value.real;
      imaginaries[element] = value.imaginary;
    } else {
      integers[element] = value.integer;
    }
  }
};

Array array_of(const Tensor& tensor);

// Floats of the oracle keep their doubles in an f64 tensor; all else has the declared dtype (MLX has no wider
// complex one).
Tensor tensor_of(const Array& array, Precision precision);

// How to walk an array inside some iteration space: element = offset + sum(position[d] * strides[d]).
struct Walk {
  int64_t offset = 0;
  std::vector<int64_t> strides;
  int64_t at(const std::vector<int64_t>& position) const {
    int64_t element = offset;
    for (size_t d = 0; d < strides.size(); ++d)
      element += position[d] * strides[d];
    return element;
  }
};

// `from` broadcast to `to` as MLX does: trailing dimensions align, size 1 repeats.
Walk broadcast_walk(const Shape& from, const Shape& to);

// Every element converted to `to`, in the same shape.
Array converted(const Array& array, Dtype to, Precision precision);

// Visits every position of `shape` in row-major order.
template <class Visit>
void for_each_position(const Shape& shape, Visit&& visit) {
  for (int64_t size : shape) {
    if (size == 0) return;
  }
  std::vector<int64_t> position(shape.size(), 0);
  while (true) {
    visit(position);
    int d = static_cast<int>(shape.size()) - 1;
    for (; d >= 0 && ++position[d] == shape[d]; --d)
      position[d] = 0;
    if (d < 0) return;
  }
}

}  // namespace autoperfect

// One reduction of a run of elements, in index order.
#pragma once

#include "reference/array.h"

namespace autoperfect {

class Reduction {
 public:
  // Sums and products of floats are rounded to `accumulate` (or to `operand`, if wider) after each step of
  // `exact`.
  Reduction(Op op, Dtype operand, Dtype result, Dtype accumulate, Precision precision);

  void add(Scalar element);
  Scalar result() const;

 private:
  void add_floating(double x);
  void add_integer(int64_t x);
  bool is_before(Scalar element) const;  // in the order in which argmax or argmin looks for the first

  Op op_;
  Dtype operand_, result_, accumulate_;
  bool rounds_;
  Scalar state_;
  int64_t count_ = 0;  // elements so far
  int64_t found_ = 0;  // argmax, argmin: where
};

// What max and min start from, and the order they follow, in a dtype.
Scalar start_of(Op op, Dtype operand);
bool less(Dtype dtype, Scalar a, Scalar b);

// A reduction node of a graph over its `axes` (or `axis`).
Array reduce(
    const Node& node, const Array& operand, const TensorType& result, Dtype accumulate, Precision precision);

}  // namespace autoperfect

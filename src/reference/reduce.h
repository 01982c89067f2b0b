// One reduction of a run of elements, in index order, and one element of a contraction.
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
  void add_complex(Scalar x);
  bool is_before(Scalar element) const;  // in the order in which argmax or argmin looks for the first

  Op op_;
  Dtype operand_, result_, accumulate_;
  bool rounds_;
  Scalar state_;
  int64_t count_ = 0;  // elements so far
  int64_t found_ = 0;  // argmax, argmin: where
};

// Products are exact (of f32 and less in the double they are made in), as whether MLX rounds them depends on
// the instructions it finds; each sum is rounded to `accumulate` in `exact`.
class SumOfProducts {
 public:
  SumOfProducts(Dtype result, Dtype accumulate, Precision precision);

  void add(Scalar a, Scalar b);
  Scalar result() const;

 private:
  Dtype result_, accumulate_;
  bool rounds_;
  double real_ = 0, imaginary_ = 0;
};

// What max and min start from, and the order they follow, in a dtype. A complex number is NaN if a part is.
Scalar start_of(Op op, Dtype operand);
bool is_nan(Dtype dtype, Scalar x);
bool less(Dtype dtype, Scalar a, Scalar b);

// A reduction node of a graph over its `axes` (or `axis`).
Array reduce(
    const Node& node, const Array& operand, const TensorType& result, Dtype accumulate, Precision precision);

}  // namespace autoperfect

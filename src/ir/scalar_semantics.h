// What every elementwise op means for one element, written once: constant folding and the reference executor
// share it. It is MLX's eager CPU backend: results are rounded to their dtype where MLX rounds them, halves
// go through f32, integers wrap. Elementary functions are the correctly rounded ones (MLX's own are within a
// few ulp of them).
#pragma once

#include <cstdint>

#include "ir/dtype.h"
#include "ir/op.h"

namespace autoperfect {

// One element: floats in `real`, the other part of a c64 in `imaginary`; integers and bools in `integer` (a
// u64 as its bits).
struct Scalar {
  double real = 0;
  int64_t integer = 0;
  double imaginary = 0;
};

// An elementwise op on elements of `operand` dtype (for select, that of its two values) giving `result`.
struct ScalarOp {
  Op op = Op::copy;
  Dtype operand = Dtype::f32;
  Dtype result = Dtype::f32;
  bool rounds = true;      // false: floats stay in double, and a function is its plain mathematical self
  bool nan_equal = false;  // `equal` only
};
Scalar apply(const ScalarOp& op, const Scalar* operands);

// Whether MLX has the op for c64, which is more than its types say.
bool has_complex_meaning(Op op);

// As MLX's astype on the CPU: floats to nearest even, halves by way of f32, floats to integers towards zero
// (out of range as x86 converts), integers modulo 2^bits, anything to bool by `!= 0`. Of a complex number the
// real part is converted, but to bool both.
Scalar convert(Dtype from, Dtype to, Scalar value, bool rounds = true);

// The nearest value of `dtype`, converted as above from a double.
double round_to(Dtype dtype, double value);

// Modulo 2^bits of an integer dtype; 0 or 1 for bool.
int64_t wrap_to(Dtype dtype, int64_t value);

}  // namespace autoperfect

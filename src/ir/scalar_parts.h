// The parts of apply() (scalar_semantics.h): operands are all floats, all integers, or all complex.
#pragma once

#include "ir/scalar_semantics.h"

namespace autoperfect {

// Arithmetic and functions: the result has the operands' dtype.
double apply_floating(const ScalarOp& op, const Scalar* operands);
int64_t apply_integer(const ScalarOp& op, const Scalar* operands);
Scalar apply_complex(const ScalarOp& op, const Scalar* operands);

double inverse_error_function(double x);

[[noreturn]] void no_scalar_meaning(const ScalarOp& op);

// Ops whose result is a truth value, the same way for every type. False when `op` is not one of them.
template <class T>
bool apply_logical(const ScalarOp& op, T a, T b, bool& result) {
  switch (op.op) {
    case Op::equal:
      result = a == b || (op.nan_equal && a != a && b != b);
      return true;
    case Op::not_equal:
      result = a != b;
      return true;
    case Op::less:
      result = a < b;
      return true;
    case Op::less_equal:
      result = a <= b;
      return true;
    case Op::greater:
      result = a > b;
      return true;
    case Op::greater_equal:
      result = a >= b;
      return true;
    case Op::logical_and:
      result = a != 0 && b != 0;
      return true;
    case Op::logical_or:
      result = a != 0 || b != 0;
      return true;
    case Op::logical_not:
      result = a == 0;
      return true;
    default:
      return false;
  }
}

}  // namespace autoperfect

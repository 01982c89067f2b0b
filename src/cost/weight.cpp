#include "cost/weight.h"

namespace autoperfect {

Weight weight_of(Op op) {
  switch (op) {
    case Op::exp:
    case Op::expm1:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::log1p:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::erf:
    case Op::erfinv:
    case Op::sigmoid:
    case Op::power:
    case Op::logaddexp:
    case Op::atan2:
      return Weight::heavy;
    case Op::div:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::remainder:
    case Op::floor_divide:
      return Weight::division;
    default:
      return class_of(op) == OpClass::view || class_of(op) == OpClass::source ? Weight::free : Weight::light;
  }
}

namespace {

double instructions_in_f32(Op op) {
  switch (op) {
    case Op::power:
    case Op::logaddexp:
      return 60;
    case Op::erf:
    case Op::erfinv:
    case Op::sin:
    case Op::cos:
    case Op::tan:
      return 35;
    case Op::cumsum:
    case Op::cumprod:
    case Op::cummax:
    case Op::cummin:
      return 20;  // each element waits for the one before
    default:
      break;
  }
  switch (weight_of(op)) {
    case Weight::free:
      return 0;
    case Weight::light:
      return 1;
    case Weight::division:
      return 8;
    case Weight::heavy:
      return 25;
  }
  return 0;
}

}  // namespace

double instructions_of(Op op, Dtype dtype) {
  double instructions = instructions_in_f32(op);
  if (instructions == 0) return 0;
  if (dtype == Dtype::bf16 || dtype == Dtype::f16) return instructions + 3;
  return instructions * (size_of(dtype) > 4 ? 2 : 1);
}

}  // namespace autoperfect

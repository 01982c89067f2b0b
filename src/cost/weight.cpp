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

}  // namespace autoperfect

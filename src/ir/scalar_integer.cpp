#include "ir/scalar_parts.h"

namespace autoperfect {

namespace {

int64_t wrapping_power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return static_cast<int64_t>(result);
}

// Division by zero gives zero, the remainder by zero the dividend, so that a == (a / b) * b + a % b.
// T is uint64_t for u64 and int64_t for all others, whose values it holds exactly.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if (b == T(-1) && T(-1) < 0) return T(0 - static_cast<uint64_t>(a));  // the most negative one wraps
  return a / b;
}

template <class T>
T rest(T a, T b) {
  return T(static_cast<uint64_t>(a) - static_cast<uint64_t>(quotient(a, b)) * static_cast<uint64_t>(b));
}

// Towards minus infinity; the remainder has the sign of the divisor.
template <class T>
T floor_quotient(T a, T b) {
  const bool below = b != 0 && rest(a, b) != 0 && (a < 0) != (b < 0);
  return quotient(a, b) - T(below);
}

template <class T>
T floor_rest(T a, T b) {
  const T r = rest(a, b);
  return b != 0 && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <class T>
T power(T base, T exponent) {
  return exponent < 0 ? 0 : T(wrapping_power(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
}

// The CPU's shifts look at the low bits of the count only; narrow integers shift as 32 bits wide.
template <class T>
T shift(const ScalarOp& op, T a, T count) {
  const int places = static_cast<int>(static_cast<uint64_t>(count) & (size_of(op.operand) == 8 ? 63 : 31));
  return op.op == Op::left_shift ? T(static_cast<uint64_t>(a) << places) : a >> places;
}

template <class T>
T binary(const ScalarOp& op, T a, T b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op.op) {
    case Op::add:
      return T(x + y);
    case Op::sub:
      return T(x - y);
    case Op::mul:
      return T(x * y);
    case Op::div:
      return quotient(a, b);
    case Op::floor_divide:
      return floor_quotient(a, b);
    case Op::remainder:
      return floor_rest(a, b);
    case Op::power:
      return power(a, b);
    case Op::maximum:
      return a > b ? a : b;
    case Op::minimum:
      return a < b ? a : b;
    case Op::bitwise_and:
      return a & b;
    case Op::bitwise_or:
      return a | b;
    case Op::bitwise_xor:
      return a ^ b;
    case Op::left_shift:
    case Op::right_shift:
      return shift(op, a, b);
    default:
      no_scalar_meaning(op);
  }
}

template <class T>
T unary(const ScalarOp& op, T a) {
  const auto x = static_cast<uint64_t>(a);
  switch (op.op) {
    case Op::abs:
      return a < 0 ? T(0 - x) : a;
    case Op::neg:
      return T(0 - x);
    case Op::sign:
      return T((a > 0) - (a < 0));
    case Op::square:
      return T(x * x);
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return a;
    case Op::bitwise_invert:
      return op.operand == Dtype::bool_ ? T(a == 0) : T(~x);
    default:
      no_scalar_meaning(op);
  }
}

template <class T>
int64_t apply_as(const ScalarOp& op, const Scalar* operands) {
  const T a = static_cast<T>(operands[0].integer);
  const T result = arity(op.op) == 1 ? unary(op, a) : binary(op, a, static_cast<T>(operands[1].integer));
  return wrap_to(op.result, static_cast<int64_t>(result));
}

}  // namespace

int64_t apply_integer(const ScalarOp& op, const Scalar* operands) {
  return op.operand == Dtype::u64 ? apply_as<uint64_t>(op, operands) : apply_as<int64_t>(op, operands);
}

}  // namespace autoperfect

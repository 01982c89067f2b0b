// Complex elements: arithmetic as std::complex of the precision at hand, which is what MLX computes with; an
// elementary function is computed in double and rounded once.
#include <cmath>
#include <complex>
#include <limits>

#include "ir/scalar_parts.h"

namespace autoperfect {

namespace {

using Double = std::complex<double>;

// A complex number is NaN when one of its parts is.
bool is_nan(Double z) {
  return std::isnan(z.real()) || std::isnan(z.imag());
}

// By the real part, then by the imaginary one.
bool is_greater(Double a, Double b) {
  return a.real() > b.real() || (a.real() == b.real() && a.imag() > b.imag());
}
bool is_greater_or_equal(Double a, Double b) {
  return a.real() > b.real() || (a.real() == b.real() && a.imag() >= b.imag());
}

bool is_complex_logical(const ScalarOp& op, Double a, Double b, bool& result) {
  switch (op.op) {
    case Op::equal:
      result = a == b || (op.nan_equal && is_nan(a) && is_nan(b));
      return true;
    case Op::not_equal:
      result = a != b;
      return true;
    case Op::less:
      result = is_greater(b, a);
      return true;
    case Op::less_equal:
      result = is_greater_or_equal(b, a);
      return true;
    case Op::greater:
      result = is_greater(a, b);
      return true;
    case Op::greater_equal:
      result = is_greater_or_equal(a, b);
      return true;
    default:
      return false;
  }
}

template <class T>
std::complex<T> arithmetic(const ScalarOp& op, std::complex<T> a, std::complex<T> b) {
  switch (op.op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::square:
      return a * a;
    case Op::div:
    case Op::floor_divide:  // MLX floors no complex number
      return a / b;
    case Op::sign:
      return a == std::complex<T>(0) ? a : a / std::complex<T>(std::abs(a));
    case Op::rsqrt:
      return std::complex<T>(1) / std::complex<T>(std::sqrt(Double(a)));
    default:
      no_scalar_meaning(op);
  }
}

Double log_of_one_more(Double z) {
  const double x = z.real(), y = z.imag(), angle = std::atan2(y, x + 1);
  if (std::abs(z) >= 0.5) return {std::log(std::hypot(x + 1, y)), angle};
  const double excess = x * (2 + x) + y * y;  // of the square of |1 + z| over 1
  return {excess == 0 ? x : std::log1p(excess) / 2, angle};
}

Double log_add_exp(Double a, Double b) {
  const bool a_is_high = is_nan(a) || is_greater(a, b), a_is_low = is_nan(a) || is_greater(b, a);
  const Double high = a_is_high ? a : b, low = a_is_low ? a : b;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (low == Double(-infinity) || high == Double(infinity)) return high;
  return high + log_of_one_more(std::exp(low - high));
}

Double function(const ScalarOp& op, Double a, Double b) {
  switch (op.op) {
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::log2:
      return std::log(a) / std::log(2.0);
    case Op::log10:
      return std::log10(a);
    case Op::log1p:
      return log_of_one_more(a);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::tan:
      return std::tan(a);
    case Op::sinh:
      return std::sinh(a);
    case Op::cosh:
      return std::cosh(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::asin:
      return std::asin(a);
    case Op::acos:
      return std::acos(a);
    case Op::atan:
      return std::atan(a);
    case Op::asinh:
      return std::asinh(a);
    case Op::acosh:
      return std::acosh(a);
    case Op::atanh:
      return std::atanh(a);
    case Op::power:
      return std::pow(a, b);
    case Op::logaddexp:
      return log_add_exp(a, b);
    default:
      no_scalar_meaning(op);
  }
}

// Nothing where no part is rounded.
bool moves_parts(const ScalarOp& op, Double a, Double b, Double& result) {
  switch (op.op) {
    case Op::abs:
      result = std::abs(a);
      return true;
    case Op::neg:
      result = -a;
      return true;
    case Op::conjugate:
      result = std::conj(a);
      return true;
    case Op::real:
      result = a.real();
      return true;
    case Op::imag:
      result = a.imag();
      return true;
    case Op::round:
      result = {std::nearbyint(a.real()), std::nearbyint(a.imag())};
      return true;
    case Op::maximum:
      result = is_nan(a) || is_greater(a, b) ? a : b;
      return true;
    case Op::minimum:
      result = is_nan(a) || is_greater(b, a) ? a : b;
      return true;
    default:
      return false;
  }
}

bool is_arithmetic(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::square:
    case Op::div:
    case Op::floor_divide:
    case Op::sign:
    case Op::rsqrt:
      return true;
    default:
      return false;
  }
}

Scalar scalar_of(const ScalarOp& op, Double z) {
  if (!op.rounds) return {z.real(), 0, z.imag()};
  return {static_cast<float>(z.real()), 0, static_cast<float>(z.imag())};
}

}  // namespace

Scalar apply_complex(const ScalarOp& op, const Scalar* operands) {
  auto number = [](const Scalar& x) { return Double(x.real, x.imaginary); };
  const Double a = number(operands[0]), b = arity(op.op) > 1 ? number(operands[1]) : a;
  if (bool truth = false; is_complex_logical(op, a, b, truth)) return {0, truth};
  if (Double result; moves_parts(op, a, b, result)) return scalar_of(op, result);
  if (!is_arithmetic(op.op)) return scalar_of(op, function(op, a, b));
  if (!op.rounds) return scalar_of(op, arithmetic<double>(op, a, b));
  using Single = std::complex<float>;
  return scalar_of(op, Double(arithmetic<float>(op, Single(a), Single(b))));
}

bool has_complex_meaning(Op op) {
  switch (op) {
    case Op::erf:
    case Op::erfinv:
    case Op::expm1:
    case Op::sigmoid:
    case Op::atan2:
    case Op::remainder:
    case Op::floor:
    case Op::ceil:
      return false;
    default:
      return true;  // or its types admit no c64
  }
}

}  // namespace autoperfect

#include <cmath>
#include <limits>

#include "ir/scalar_parts.h"

namespace autoperfect {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Rounds to the op's dtype where MLX does: after each step of what it composes.
struct Rounder {
  const ScalarOp& op;
  double operator()(double value) const { return op.rounds ? round_to(op.operand, value) : value; }
};

double maximum(double a, double b) {
  return std::isnan(a) ? a : a > b ? a : b;
}
double minimum(double a, double b) {
  return std::isnan(a) ? a : a < b ? a : b;
}

// The IEEE remainder, moved to the sign of the divisor.
double remainder(const Rounder& round, double a, double b) {
  const double r = round(std::remainder(a, b));
  return r != 0 && (r < 0) != (b < 0) ? round(r + b) : r;
}

double log_add_exp(const Rounder& round, double a, double b) {
  const double high = maximum(a, b), low = minimum(a, b);
  if (low == -infinity || high == infinity) return high;
  const double ratio = round(std::exp(round(low - high)));
  return round(high + round(std::log1p(ratio)));
}

// MLX rounds the exponential to its dtype and computes the rest in f32 (in f64 for f64).
double sigmoid(const ScalarOp& op, double x) {
  if (!op.rounds) return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
  const Rounder round{op};
  const Dtype wide = op.operand == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const double power = round(std::exp(std::fabs(x)));
  const double small = round_to(wide, 1 / round_to(wide, 1 + power));
  return round(x < 0 ? small : round_to(wide, 1 - small));
}

double sign(double x) {
  return x < 0 ? -1 : x > 0 ? 1 : 0;
}  // of NaN and -0: 0

double function(const ScalarOp& op, double x) {
  switch (op.op) {
    case Op::exp:
      return std::exp(x);
    case Op::expm1:
      return std::expm1(x);
    case Op::log:
      return std::log(x);
    case Op::log2:
      return std::log2(x);
    case Op::log10:
      return std::log10(x);
    case Op::log1p:
      return std::log1p(x);
    case Op::sqrt:
      return std::sqrt(x);
    case Op::sin:
      return std::sin(x);
    case Op::cos:
      return std::cos(x);
    case Op::tan:
      return std::tan(x);
    case Op::sinh:
      return std::sinh(x);
    case Op::cosh:
      return std::cosh(x);
    case Op::tanh:
      return std::tanh(x);
    case Op::asin:
      return std::asin(x);
    case Op::acos:
      return std::acos(x);
    case Op::atan:
      return std::atan(x);
    case Op::asinh:
      return std::asinh(x);
    case Op::acosh:
      return std::acosh(x);
    case Op::atanh:
      return std::atanh(x);
    case Op::erf:
      return std::erf(x);
    case Op::erfinv:
      return inverse_error_function(x);
    default:
      no_scalar_meaning(op);
  }
}

double unary(const ScalarOp& op, double x) {
  const Rounder round{op};
  switch (op.op) {
    case Op::abs:
      return std::fabs(x);
    case Op::neg:
      return -x;
    case Op::sign:
      return sign(x);
    case Op::square:
      return round(x * x);
    case Op::rsqrt:
      return round(1 / round(std::sqrt(x)));
    case Op::sigmoid:
      return sigmoid(op, x);
    case Op::floor:
      return std::floor(x);
    case Op::ceil:
      return std::ceil(x);
    case Op::round:
      return std::nearbyint(x);  // half to even
    default:
      return round(function(op, x));
  }
}

double binary(const ScalarOp& op, double a, double b) {
  const Rounder round{op};
  switch (op.op) {
    case Op::add:
      return round(a + b);
    case Op::sub:
      return round(a - b);
    case Op::mul:
      return round(a * b);
    case Op::div:
      return round(a / b);
    case Op::floor_divide:
      return std::floor(round(a / b));
    case Op::remainder:
      return remainder(round, a, b);
    case Op::power:
      return round(std::pow(a, b));
    case Op::maximum:
      return maximum(a, b);
    case Op::minimum:
      return minimum(a, b);
    case Op::logaddexp:
      return log_add_exp(round, a, b);
    case Op::atan2:
      return round(std::atan2(a, b));
    default:
      no_scalar_meaning(op);
  }
}

}  // namespace

// Giles' approximation, then Newton on whichever of erf and erfc does not cancel.
double inverse_error_function(double x) {
  const double magnitude = std::fabs(x);
  if (!(magnitude < 1))
    return magnitude == 1 ? std::copysign(infinity, x) : std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return x;
  const double w = -std::log((1 - magnitude) * (1 + magnitude));
  double y = w < 5 ? magnitude * 0.8862269254527580 : std::sqrt(w);
  for (int step = 0; step < 40; ++step) {
    const double error = magnitude < 0.5 ? std::erf(y) - magnitude : (1 - magnitude) - std::erfc(y);
    const double slope = 1.1283791670955126 * std::exp(-y * y);
    const double newton = error / slope;
    const double next =
        y - newton / (1 + y * newton);  // Halley: the second derivative is -2y times the first
    if (std::fabs(next - y) <= 1e-16 * std::fabs(next)) return std::copysign(next, x);
    y = next;
  }
  return std::copysign(y, x);
}

double apply_floating(const ScalarOp& op, const Scalar* operands) {
  return arity(op.op) == 1 ? unary(op, operands[0].real) : binary(op, operands[0].real, operands[1].real);
}

}  // namespace autoperfect

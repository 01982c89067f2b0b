// The errors of elementwise operations, written as values beside those of the kernel: see error_bound.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gate/corner_bounds.h"

namespace autoperfect {

// Half the spacing of 1.0, and the smallest subnormal number.
struct Rounding {
  double unit = 0, quantum = 0;
};

// Normal numbers.
struct Range {
  double smallest, largest;
};

inline Range range_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return {0x1p-14, 65504};
    case Dtype::bf16:
      return {0x1p-126, 0x1.fep127};
    case Dtype::f64:
      return {std::numeric_limits<double>::min(), std::numeric_limits<double>::max()};
    default:
      return {std::numeric_limits<float>::min(), std::numeric_limits<float>::max()};
  }
}

inline Rounding rounding_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return {0x1p-11, 0x1p-24};
    case Dtype::bf16:
      return {0x1p-8, 0x1p-133};
    case Dtype::f32:
      return {0x1p-24, 0x1p-149};
    case Dtype::f64:
      return {0x1p-53, 0};
    default:
      return {};
  }
}

// Half ulps of the sum of magnitudes that a sum may be off. Rounding errors mostly cancel (sqrt n), but those
// of equal terms all go one way. The contract leaves the order open: up to 4096 terms may be added one after
// another (an eighth of the worst case is what that comes to), more only over vector lanes and several
// accumulators.
inline double rounding_steps_of_sum(double terms) {
  return 4 + std::max({std::sqrt(terms), std::min(terms, 4096.0) / 8, terms / 128});
}

// Half ulps an operation may add.
inline double rounding_steps(Op op) {
  switch (op) {
    case Op::abs:
    case Op::neg:
    case Op::copy:
    case Op::stop_gradient:
    case Op::select:
    case Op::maximum:
    case Op::minimum:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::sign:
      return 0;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::square:
    case Op::cast:
      return 1;
    default:
      return 3;
  }
}

class ElementwiseBounds : protected CornerBounds {
 protected:
  explicit ElementwiseBounds(const Kernel& source) : CornerBounds(source) {}

  // A load is exact, but where an uncertain index is gathered from it may be anything.
  KernelOperand error_of_operand(const KernelOperand& operand) {
    if (operand.kind == Kind::value) return errors_[operand.id];
    KernelOperand error = literal(0);
    for (auto v : operand.gathered) {
      if (v < 0 || is_zero(errors_[v])) continue;
      const auto axes = axes_of(kernel_, operand);
      auto uncertain = emit(Op::greater, axes, {errors_[v], literal(0)}, Dtype::bool_);
      error = larger(axes, error, emit(Op::select, axes, {uncertain, literal(infinity), literal(0)}));
    }
    return error;
  }

  // One of the two operands is a literal.
  KernelOperand scaled_by_literal(const KernelValue& value, const std::vector<Uncertain>& operands) {
    bool second = operands[1].nominal.kind == Kind::literal;
    double scale = std::fabs(operands[second ? 1 : 0].nominal.literal);
    if (value.op == Op::div) scale = 1 / scale;
    return emit(Op::mul, value.axes, {operands[second ? 0 : 1].error, literal(scale)});
  }

  KernelOperand passed_on(KernelValueId id, const std::vector<Uncertain>& operands) {
    const KernelValue value = kernel_.values[id];
    auto is_exact = [](const Uncertain& operand) { return is_zero(operand.error); };
    if (std::all_of(operands.begin(), operands.end(), is_exact)) return literal(0);
    bool real_result = is_floating(value.dtype);
    switch (value.op) {
      case Op::add:
      case Op::sub:
        if (real_result) return add(value.axes, operands[0].error, operands[1].error);
        break;
      case Op::abs:
      case Op::neg:
      case Op::copy:
      case Op::stop_gradient:
      case Op::sin:
      case Op::cos:
        return operands[0].error;
      case Op::cast:
        if (real_result && is_floating(operands[0].dtype)) return operands[0].error;
        break;
      case Op::maximum:
      case Op::minimum:
        return larger(value.axes, operands[0].error, operands[1].error);
      case Op::mul:
        if (real_result && operands[0].nominal.kind == Kind::literal)
          return scaled_by_literal(value, operands);
        [[fallthrough]];
      case Op::div:
        if (real_result && operands[1].nominal.kind == Kind::literal)
          return scaled_by_literal(value, operands);
        break;
      default:
        break;
    }
    return passed_on_at_corners(id, operands);
  }

  // `factor` times the magnitude plus a quantum, where the value is finite (an infinity is exact).
  KernelOperand own_rounding(KernelValueId id, const KernelOperand& scale, double factor) {
    const KernelValue value = kernel_.values[id];
    if (!is_floating(value.dtype) || factor == 0) return literal(0);
    auto scaled = emit(Op::mul, value.axes, {scale, literal(factor)});
    auto rounding = emit(Op::add, value.axes, {scaled, literal(rounding_of(value.dtype).quantum)});
    auto is_finite = finite(value.axes, magnitude(value.axes, reference_to(id), value.dtype));
    return emit(Op::select, value.axes, {is_finite, rounding, literal(0)});
  }

  // What is rounded: the result; of max(a, b) + log1p(exp(-|a - b|)), which may cancel, the larger part.
  KernelOperand rounded_magnitude(KernelValueId id, const std::vector<Uncertain>& operands) {
    const KernelValue value = kernel_.values[id];
    auto scale = magnitude(value.axes, reference_to(id), value.dtype);
    if (value.op != Op::logaddexp) return scale;
    for (const auto& operand : operands)
      scale = larger(value.axes, scale, magnitude(value.axes, operand.nominal, operand.dtype));
    return scale;
  }

  // C++ leaves the cast of a NaN, or of a number outside the integer type, undefined, and so does MLX.
  KernelOperand unless_undefined(
      const KernelValue& value, const Uncertain& operand, const KernelOperand& error) {
    const int bits = 8 * size_of(value.dtype) - (is_signed_integer(value.dtype) ? 1 : 0);
    const double above = std::ldexp(1.0, bits), below = is_signed_integer(value.dtype) ? -above - 1 : -1;
    auto ends = corners(value.axes, operand);
    auto fits = both(
        value.axes,
        emit(Op::greater, value.axes, {ends.front(), literal(below)}, Dtype::bool_),
        emit(Op::less, value.axes, {ends.back(), literal(above)}, Dtype::bool_));
    return emit(Op::select, value.axes, {fits, error, literal(infinity)});
  }

  // A reduction of floats leaves the sign of a zero open, and so does what is made of it.
  bool leaves_zero_sign_open(const KernelValue& value) const {
    if (class_of(value.op) == OpClass::elementwise) {
      return std::any_of(value.operands.begin(), value.operands.end(), [&](const KernelOperand& operand) {
        return operand.kind == Kind::value && zero_sign_is_open_[operand.id];
      });
    }
    return is_floating(value.dtype);
  }

  // Infinite where the operation gives another number for -0.0 than for 0.0, and which of them it gets is
  // open.
  KernelOperand unless_at_open_zero(const KernelValue& value, const KernelOperand& error) {
    if (value.op != Op::atan2 && value.op != Op::div && value.op != Op::rsqrt && value.op != Op::power)
      return error;
    KernelOperand at_zero = literal(0);
    for (size_t i = value.op == Op::div ? 1 : 0; i < value.operands.size(); ++i) {
      const auto& operand = value.operands[i];
      if (operand.kind != Kind::value || !zero_sign_is_open_[operand.id]) continue;
      at_zero = either(value.axes, at_zero, emit(Op::equal, value.axes, {operand, literal(0)}, Dtype::bool_));
    }
    if (is_zero(at_zero)) return error;
    return emit(Op::select, value.axes, {at_zero, literal(infinity), error});
  }

  // Whether the result is a zero, of whichever sign, when its operands are the zeros they are and has the
  // sign that theirs give it otherwise.
  static bool takes_sign_of_operands(Op op) {
    switch (op) {
      case Op::mul:
      case Op::div:
      case Op::abs:
      case Op::neg:
      case Op::copy:
      case Op::stop_gradient:
      case Op::cast:
      case Op::square:
      case Op::sqrt:
      case Op::sign:
      case Op::tanh:
      case Op::sinh:
      case Op::asin:
      case Op::atan:
      case Op::asinh:
      case Op::atanh:
      case Op::erf:
      case Op::erfinv:
      case Op::expm1:
      case Op::log1p:
        return true;
      default:
        return false;
    }
  }

  // Whether rounding may have put a number of the other sign in its place.
  KernelOperand sign_doubt(KernelValueId id, const KernelOperand& error) {
    const KernelValue value = kernel_.values[id];
    KernelOperand doubt = literal(0);
    if (!is_floating(value.dtype)) return doubt;
    for (const auto& operand : value.operands)
      if (operand.kind == Kind::value) doubt = either(value.axes, doubt, sign_doubts_[operand.id]);
    if (is_zero(error) || takes_sign_of_operands(value.op)) return doubt;
    auto size = magnitude(value.axes, reference_to(id), value.dtype);
    auto reaches_zero = emit(Op::greater_equal, value.axes, {error, size}, Dtype::bool_);
    auto is_off = emit(Op::greater, value.axes, {error, literal(0)}, Dtype::bool_);
    return either(value.axes, doubt, both(value.axes, reaches_zero, is_off));
  }

  KernelOperand elementwise_error(KernelValueId id) {
    const KernelValue value = kernel_.values[id];
    std::vector<Uncertain> operands;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      operands.push_back(
          {value.operands[i],
           operand_dtype(kernel_, value, static_cast<int>(i)),
           error_of_operand(value.operands[i])});
    }
    const auto passed = passed_on(id, operands), own = own_error(id, operands);
    // Only this sum is rounded so late that its own rounding may change the sign.
    sign_doubts_[id] = sign_doubt(id, value.op == Op::logaddexp ? add(value.axes, passed, own) : passed);
    if (value.op == Op::cast && is_integer(value.dtype) && is_floating(operands[0].dtype))
      return unless_undefined(value, operands[0], passed);
    return unless_at_open_zero(value, add(value.axes, passed, own));
  }

  KernelOperand own_error(KernelValueId id, const std::vector<Uncertain>& operands) {
    const KernelValue value = kernel_.values[id];
    const bool widens = value.op == Op::cast && size_of(operands[0].dtype) < size_of(value.dtype);
    const double factor = widens ? 0 : rounding_steps(value.op) * rounding_of(value.dtype).unit;
    return factor == 0 ? literal(0) : own_rounding(id, rounded_magnitude(id, operands), factor);
  }

  std::vector<KernelOperand> errors_;       // per value of the source
  std::vector<bool> zero_sign_is_open_;     // the same
  std::vector<KernelOperand> sign_doubts_;  // the same
};

}  // namespace autoperfect

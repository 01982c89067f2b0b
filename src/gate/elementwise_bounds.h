// The errors of elementwise operations, written as values beside those of the kernel: see error_bound.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gate/kernel_writer.h"

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

// Finite wherever they are a number.
inline bool is_bounded(Op op) {
  switch (op) {
    case Op::tanh:
    case Op::erf:
    case Op::sigmoid:
    case Op::atan:
    case Op::sign:
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
      return true;
    default:
      return false;
  }
}

class ElementwiseBounds : protected KernelWriter {
 protected:
  using Kind = KernelOperand::Kind;
  using Operands = const std::vector<KernelOperand>&;
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  explicit ElementwiseBounds(const Kernel& source) : KernelWriter(source) {}

  // --- operands with errors

  struct Uncertain {
    KernelOperand nominal;
    Dtype dtype;
    KernelOperand error;
  };

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

  // The operand moved down and up by its error.
  std::vector<KernelOperand> corners(Axes axes, const Uncertain& a) {
    if (is_zero(a.error)) return {a.nominal};
    if (a.dtype == Dtype::bool_) {
      auto doubt = emit(Op::greater, axes, {a.error, literal(0)}, Dtype::bool_);
      auto sure = emit(Op::logical_not, axes, {doubt}, Dtype::bool_);
      return {
          emit(Op::logical_and, axes, {a.nominal, sure}, Dtype::bool_),
          emit(Op::logical_or, axes, {a.nominal, doubt}, Dtype::bool_)};
    }
    auto nominal = real(axes, a.nominal, a.dtype);
    auto low = emit(Op::sub, axes, {nominal, a.error});
    auto high = emit(Op::add, axes, {nominal, a.error});
    if (is_floating(a.dtype)) return {low, high};
    return {emit(Op::cast, axes, {low}, a.dtype), emit(Op::cast, axes, {high}, a.dtype)};
  }

  // All combinations of the operands' corners.
  std::vector<std::vector<KernelOperand>> combinations(Axes axes, const std::vector<Uncertain>& operands) {
    std::vector<std::vector<KernelOperand>> found = {{}};
    for (auto& operand : operands) {
      std::vector<std::vector<KernelOperand>> longer;
      for (auto& corner : corners(axes, operand)) {
        for (auto& prefix : found) {
          longer.push_back(prefix);
          longer.back().push_back(corner);
        }
      }
      found = std::move(longer);
    }
    return found;
  }

  // --- rules

  // |after - before|: nothing where both are the same infinity or no number, infinite where only one is.
  KernelOperand change(Axes axes, const KernelOperand& before, const KernelOperand& after) {
    auto is_number = [&](const KernelOperand& v) { return emit(Op::equal, axes, {v, v}, Dtype::bool_); };
    auto same = emit(Op::equal, axes, {before, after}, Dtype::bool_);
    auto some = emit(Op::logical_or, axes, {is_number(before), is_number(after)}, Dtype::bool_);
    auto distance = magnitude(axes, emit(Op::sub, axes, {after, before}), Dtype::f64);
    auto lost = emit(Op::select, axes, {some, literal(infinity), literal(0)});
    auto measured = emit(Op::select, axes, {is_number(distance), distance, lost});
    return emit(Op::select, axes, {same, literal(0), measured});
  }

  // The largest change of the value at any corner.
  KernelOperand largest_change(KernelValueId id, Operands moved) {
    const KernelValue value = kernel_.values[id];
    auto nominal = real(value.axes, reference_to(id), value.dtype);
    KernelOperand worst = literal(0);
    for (auto& corner : moved)
      worst = larger(value.axes, worst, change(value.axes, nominal, corner));
    return worst;
  }

  KernelOperand either(Axes axes, const KernelOperand& a, const KernelOperand& b) {
    if (is_zero(a)) return b;
    return is_zero(b) ? a : emit(Op::logical_or, axes, {a, b}, Dtype::bool_);
  }

  // Whether an operand's error is infinite.
  KernelOperand is_undetermined(Axes axes, const std::vector<Uncertain>& operands) {
    KernelOperand found = literal(0);
    for (auto& operand : operands) {
      if (is_zero(operand.error)) continue;
      found = either(axes, found, emit(Op::equal, axes, {operand.error, literal(infinity)}, Dtype::bool_));
    }
    return found;
  }

  // Whether some corners are finite and others are not.
  KernelOperand corners_disagree(
      const KernelValue& value, const std::vector<Uncertain>& operands, Operands moved) {
    KernelOperand disagree = literal(0), first;
    for (size_t c = 0; c < moved.size(); ++c) {
      auto is_finite = finite(value.axes, magnitude(value.axes, moved[c], Dtype::f64));
      if (c == 0) first = is_finite;
      if (c == 0) continue;
      auto other = emit(Op::not_equal, value.axes, {first, is_finite}, Dtype::bool_);
      disagree = either(value.axes, disagree, other);
    }
    if (value.op != Op::div || is_zero(operands[1].error)) return disagree;
    // A divisor that may be zero: the corners on its two sides may well be finite.
    auto divisor = magnitude(value.axes, operands[1].nominal, operands[1].dtype);
    return either(
        value.axes, disagree, emit(Op::less, value.axes, {divisor, operands[1].error}, Dtype::bool_));
  }

  KernelOperand passed_on_at_corners(KernelValueId id, const std::vector<Uncertain>& operands) {
    const KernelValue value = kernel_.values[id];
    std::vector<KernelOperand> moved;
    for (auto& corner : combinations(value.axes, operands)) {
      auto at_corner =
          emit(value.op, value.axes, corner, is_floating(value.dtype) ? Dtype::f64 : value.dtype);
      kernel_.values[at_corner.id].attributes = value.attributes;
      moved.push_back(real(value.axes, at_corner, value.dtype));
    }
    auto worst = largest_change(id, moved);
    auto unbounded = is_undetermined(value.axes, operands);
    if (!is_bounded(value.op)) {
      unbounded = either(value.axes, unbounded, corners_disagree(value, operands, moved));
    }
    return emit(Op::select, value.axes, {unbounded, literal(infinity), worst});
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
      const KernelValue& value, const KernelOperand& operand, const KernelOperand& error) {
    const int bits = 8 * size_of(value.dtype) - (is_signed_integer(value.dtype) ? 1 : 0);
    const double above = std::ldexp(1.0, bits), below = is_signed_integer(value.dtype) ? -above - 1 : -1;
    auto fits = emit(
        Op::logical_and,
        value.axes,
        {emit(Op::greater, value.axes, {operand, literal(below)}, Dtype::bool_),
         emit(Op::less, value.axes, {operand, literal(above)}, Dtype::bool_)},
        Dtype::bool_);
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

  KernelOperand elementwise_error(KernelValueId id) {
    const KernelValue value = kernel_.values[id];
    return unless_at_open_zero(value, rounding_and_passed_on(id));
  }

  KernelOperand rounding_and_passed_on(KernelValueId id) {
    const KernelValue value = kernel_.values[id];
    std::vector<Uncertain> operands;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      operands.push_back(
          {value.operands[i],
           operand_dtype(kernel_, value, static_cast<int>(i)),
           error_of_operand(value.operands[i])});
    }
    auto passed = passed_on(id, operands);
    double factor = rounding_steps(value.op) * rounding_of(value.dtype).unit;
    if (value.op == Op::cast && size_of(operands[0].dtype) < size_of(value.dtype)) factor = 0;
    if (value.op == Op::cast && is_integer(value.dtype) && is_floating(operands[0].dtype))
      return unless_undefined(value, operands[0].nominal, passed);
    if (factor == 0) return passed;
    auto own = own_rounding(id, rounded_magnitude(id, operands), factor);
    return add(value.axes, passed, own);
  }

  std::vector<KernelOperand> errors_;    // per value of the source
  std::vector<bool> zero_sign_is_open_;  // the same
};

}  // namespace autoperfect

// How far uncertain operands may move the result of an operation: it is evaluated with each moved down and up
// by its error, and what does not show at those corners (a jump, a pole or a turn between them) is added.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "gate/kernel_writer.h"

namespace autoperfect {

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

class CornerBounds : protected KernelWriter {
 protected:
  using Kind = KernelOperand::Kind;
  using Operands = const std::vector<KernelOperand>&;
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  explicit CornerBounds(const Kernel& source) : KernelWriter(source) {}

  struct Uncertain {
    KernelOperand nominal;
    Dtype dtype;
    KernelOperand error;
  };

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

  // The number nearest to 0 that the operand may be.
  KernelOperand nearest_to_zero(Axes axes, const Uncertain& a) {
    auto nominal = real(axes, a.nominal, a.dtype);
    auto low = emit(Op::sub, axes, {nominal, a.error});
    auto high = emit(Op::add, axes, {nominal, a.error});
    auto nearest = emit(Op::minimum, axes, {emit(Op::maximum, axes, {literal(0), low}), high});
    return is_floating(a.dtype) ? nearest : emit(Op::cast, axes, {nearest}, a.dtype);
  }

  // All combinations of the operands' corners.
  std::vector<std::vector<KernelOperand>> combinations(
      const KernelValue& value, const std::vector<Uncertain>& operands) {
    std::vector<std::vector<KernelOperand>> found = {{}};
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto& operand = operands[i];
      std::vector<std::vector<KernelOperand>> longer;
      auto ends = corners(value.axes, operand);
      if (ends.size() > 1 && turns_at_zero(value, i, operand.dtype))
        ends.push_back(nearest_to_zero(value.axes, operand));
      for (auto& corner : ends) {
        for (auto& prefix : found) {
          longer.push_back(prefix);
          longer.back().push_back(corner);
        }
      }
      found = std::move(longer);
    }
    return found;
  }

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

  KernelOperand both(Axes axes, const KernelOperand& a, const KernelOperand& b) {
    return emit(Op::logical_and, axes, {a, b}, Dtype::bool_);
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
  KernelOperand corners_disagree(const KernelValue& value, Operands moved) {
    KernelOperand disagree = literal(0), first;
    for (size_t c = 0; c < moved.size(); ++c) {
      auto is_finite = finite(value.axes, magnitude(value.axes, moved[c], Dtype::f64));
      if (c == 0) first = is_finite;
      if (c == 0) continue;
      auto other = emit(Op::not_equal, value.axes, {first, is_finite}, Dtype::bool_);
      disagree = either(value.axes, disagree, other);
    }
    return disagree;
  }

  // Largest change of the value when its operands move within their errors; infinite where anything may come.
  KernelOperand passed_on_at_corners(KernelValueId id, const std::vector<Uncertain>& operands) {
    const KernelValue value = kernel_.values[id];
    std::vector<KernelOperand> moved;
    for (auto& corner : combinations(value, operands)) {
      auto at_corner =
          emit(value.op, value.axes, corner, is_floating(value.dtype) ? Dtype::f64 : value.dtype);
      kernel_.values[at_corner.id].attributes = value.attributes;
      moved.push_back(real(value.axes, at_corner, value.dtype));
    }
    auto worst = larger(value.axes, largest_change(id, moved), largest_jump(id, operands));
    auto unbounded = is_undetermined(value.axes, operands);
    if (!is_bounded(value.op)) {
      unbounded = either(value.axes, unbounded, corners_disagree(value, moved));
      unbounded = either(value.axes, unbounded, may_meet_a_pole(value, operands));
    }
    return emit(Op::select, value.axes, {unbounded, literal(infinity), worst});
  }

 private:
  // --- what may happen between corners

  // Where an operation that otherwise rises or falls turns round, or leaves its domain on both sides.
  static bool turns_at_zero(const KernelValue& value, size_t operand, Dtype dtype) {
    switch (value.op) {
      case Op::asin:
      case Op::acos:
      case Op::atanh:
      case Op::erfinv:
      case Op::logical_not:
      case Op::logical_and:
      case Op::logical_or:
        return dtype != Dtype::bool_;
      case Op::cast:
        return value.dtype == Dtype::bool_ && dtype != Dtype::bool_;
      case Op::power:
        return operand == 0;
      default:
        return false;
    }
  }

  // What does not show at corners where both are on one side of it.
  KernelOperand largest_jump(KernelValueId id, const std::vector<Uncertain>& operands) {
    const KernelValue value = kernel_.values[id];
    switch (value.op) {
      case Op::equal:
      case Op::not_equal:
        return emit(Op::cast, value.axes, {may_be_equal(value.axes, operands[0], operands[1])});
      case Op::atan2:
        return jump_of_angle(id, operands[0], operands[1]);
      case Op::remainder:
        return jump_of_remainder(value.axes, operands[0], operands[1]);
      case Op::bitwise_and:
      case Op::bitwise_or:
      case Op::bitwise_xor:
        return add(value.axes, changed_bits(value.axes, operands[0]), changed_bits(value.axes, operands[1]));
      default:
        return literal(0);
    }
  }

  KernelOperand may_be_equal(Axes axes, const Uncertain& a, const Uncertain& b) {
    auto error = add(axes, a.error, b.error);
    auto difference = emit(Op::sub, axes, {real(axes, a.nominal, a.dtype), real(axes, b.nominal, b.dtype)});
    auto touch = emit(Op::less_equal, axes, {magnitude(axes, difference, Dtype::f64), error}, Dtype::bool_);
    return both(axes, touch, emit(Op::greater, axes, {error, literal(0)}, Dtype::bool_));
  }

  // Left of the origin the angle is pi on one side of the axis and -pi on the other.
  KernelOperand jump_of_angle(KernelValueId id, const Uncertain& y, const Uncertain& x) {
    const auto axes = kernel_.values[id].axes;
    if (is_zero(y.error)) return literal(0);
    auto on_the_left = emit(
        Op::greater,
        axes,
        {emit(Op::atan2, axes, {literal(0), corners(axes, x).front()}), literal(1)},
        Dtype::bool_);
    auto crosses = both(axes, may_be_equal(axes, y, {literal(0), y.dtype, literal(0)}), on_the_left);
    auto jump =
        emit(Op::add, axes, {magnitude(axes, reference_to(id), Dtype::f64), literal(std::acos(-1.0))});
    return emit(Op::select, axes, {crosses, jump, literal(0)});
  }

  // As large as the divisor where the quotient may pass a whole number.
  KernelOperand jump_of_remainder(Axes axes, const Uncertain& a, const Uncertain& b) {
    KernelOperand passes = literal(0), first;
    for (const auto& dividend : corners(axes, a)) {
      for (const auto& divisor : corners(axes, b)) {
        auto quotient = emit(
            Op::floor,
            axes,
            {emit(Op::div, axes, {real(axes, dividend, a.dtype), real(axes, divisor, b.dtype)})});
        if (first.id < 0) first = quotient;
        passes = either(axes, passes, emit(Op::less, axes, {first, quotient}, Dtype::bool_));
        passes = either(axes, passes, emit(Op::less, axes, {quotient, first}, Dtype::bool_));
      }
    }
    auto size = add(axes, magnitude(axes, b.nominal, b.dtype), b.error);
    return emit(Op::select, axes, {passes, size, literal(0)});
  }

  // Bits up to the highest one in which the corners differ; with the sign, all of them.
  KernelOperand changed_bits(Axes axes, const Uncertain& operand) {
    if (is_zero(operand.error) || operand.dtype == Dtype::bool_) return literal(0);
    auto differing = emit(Op::bitwise_xor, axes, corners(axes, operand), operand.dtype);
    auto below = emit(Op::mul, axes, {real(axes, differing, operand.dtype), literal(2)});
    auto sign = emit(Op::less, axes, {below, literal(0)}, Dtype::bool_);
    return emit(Op::select, axes, {sign, literal(infinity), below});
  }

  // Infinite between corners that may be finite both.
  KernelOperand may_meet_a_pole(const KernelValue& value, const std::vector<Uncertain>& operands) {
    const auto& last = operands.back();
    if (is_zero(last.error)) return literal(0);
    switch (value.op) {
      case Op::div:
      case Op::floor_divide:
      case Op::remainder:
        return emit(
            Op::less,
            value.axes,
            {magnitude(value.axes, last.nominal, last.dtype), last.error},
            Dtype::bool_);
      case Op::power: {  // of a negative number: NaN between whole exponents
        auto base = real(value.axes, corners(value.axes, operands[0]).front(), operands[0].dtype);
        return both(
            value.axes,
            emit(Op::less, value.axes, {base, literal(0)}, Dtype::bool_),
            emit(Op::greater, value.axes, {last.error, literal(0)}, Dtype::bool_));
      }
      case Op::tan: {
        const auto ends = corners(value.axes, last);
        auto branch = [&](const KernelOperand& angle) {
          auto turns = emit(Op::mul, value.axes, {angle, literal(1 / std::acos(-1.0))});
          return emit(Op::round, value.axes, {turns});
        };
        return emit(Op::less, value.axes, {branch(ends[0]), branch(ends[1])}, Dtype::bool_);
      }
      default:
        return literal(0);
    }
  }
};

}  // namespace autoperfect

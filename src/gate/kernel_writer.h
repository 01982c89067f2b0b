// Adds values to a kernel, for kernels that are computed from others. What it writes is for the reference
// executor in double: every real value is f64.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

class KernelWriter {
 protected:
  using Axes = const std::vector<AxisId>&;

  explicit KernelWriter(const Kernel& source) : kernel_(source) {}

  static KernelOperand literal(double number) {
    KernelOperand operand;
    operand.kind = KernelOperand::Kind::literal;
    operand.literal = number;
    return operand;
  }
  static bool is_literal(const KernelOperand& operand) {
    return operand.kind == KernelOperand::Kind::literal;
  }
  static bool is_zero(const KernelOperand& operand) { return is_literal(operand) && operand.literal == 0; }
  static KernelOperand reference_to(KernelValueId id) {
    KernelOperand operand;
    operand.id = id;
    return operand;
  }

  KernelOperand emit(
      Op op,
      std::vector<AxisId> axes,
      std::vector<KernelOperand> operands,
      Dtype dtype = Dtype::f64,
      std::vector<AxisId> reduced = {}) {
    KernelValue value;
    value.name = fmt::format("e{}", kernel_.values.size());
    value.op = op;
    value.dtype = dtype;
    value.axes = std::move(axes);
    value.reduced = std::move(reduced);
    value.operands = std::move(operands);
    kernel_.values.push_back(std::move(value));
    KernelOperand operand;
    operand.id = static_cast<KernelValueId>(kernel_.values.size() - 1);
    return operand;
  }

  KernelOperand add(Axes axes, const KernelOperand& a, const KernelOperand& b) {
    if (is_zero(a)) return b;
    return is_zero(b) ? a : emit(Op::add, axes, {a, b});
  }
  KernelOperand larger(Axes axes, const KernelOperand& a, const KernelOperand& b) {
    if (is_zero(a)) return b;
    return is_zero(b) ? a : emit(Op::maximum, axes, {a, b});
  }
  KernelOperand real(Axes axes, const KernelOperand& a, Dtype dtype) {
    return is_floating(dtype) || is_literal(a) ? a : emit(Op::cast, axes, {a});
  }
  KernelOperand magnitude(Axes axes, const KernelOperand& a, Dtype dtype) {
    if (is_literal(a)) return literal(std::fabs(a.literal));
    bool whole = a.kind == KernelOperand::Kind::value && kernel_.values[a.id].axes == axes;
    if (auto known = magnitudes_.find(a.id); whole && known != magnitudes_.end()) return known->second;
    auto written = emit(Op::abs, axes, {real(axes, a, dtype)});
    if (whole) magnitudes_.emplace(a.id, written);
    return written;
  }
  KernelOperand finite(Axes axes, const KernelOperand& magnitude) {
    return emit(Op::less, axes, {magnitude, literal(std::numeric_limits<double>::infinity())}, Dtype::bool_);
  }

  Kernel kernel_;

 private:
  std::map<KernelValueId, KernelOperand> magnitudes_;  // of values, over their own axes
};

}  // namespace autoperfect

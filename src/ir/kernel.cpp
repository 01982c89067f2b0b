#include "ir/kernel.h"

#include <algorithm>

namespace autoperfect {

namespace {

bool has_own_dtype(const KernelOperand& operand) {
  return operand.kind == KernelOperand::Kind::value || operand.kind == KernelOperand::Kind::load;
}

Dtype own_dtype(const Kernel& kernel, const KernelOperand& operand) {
  return operand.kind == KernelOperand::Kind::value ? kernel.values[operand.id].dtype
                                                    : kernel.buffers[operand.id].type.dtype;
}

}  // namespace

Dtype operand_dtype(const Kernel& kernel, const KernelValue& value, int operand) {
  const auto& asked = value.operands[operand];
  if (has_own_dtype(asked)) return own_dtype(kernel, asked);
  bool is_select = value.op == Op::select;
  if (is_select && operand == 0) return Dtype::bool_;
  for (size_t i = is_select ? 1 : 0; i < value.operands.size(); ++i) {
    if (has_own_dtype(value.operands[i])) return own_dtype(kernel, value.operands[i]);
  }
  return value.dtype;
}

std::string place_of(const Kernel& kernel, const KernelValue& value) {
  int line = value.where.line;
  if (line <= 0) return "";
  if (!kernel.lines) return "line " + std::to_string(line);
  return static_cast<size_t>(line) <= kernel.lines->size() ? (*kernel.lines)[line - 1] : "";
}

std::vector<AxisId> axes_of(const Kernel& kernel, const KernelOperand& operand) {
  std::vector<AxisId> axes;
  switch (operand.kind) {
    case KernelOperand::Kind::value:
      return kernel.values[operand.id].axes;
    case KernelOperand::Kind::iota:
      return {operand.id};
    case KernelOperand::Kind::literal:
      return {};
    case KernelOperand::Kind::load:
      break;
  }
  for (const auto& affine : operand.index) {
    for (const auto& term : affine.terms)
      axes.push_back(term.first);
  }
  for (auto v : operand.gathered) {
    if (v >= 0) axes.insert(axes.end(), kernel.values[v].axes.begin(), kernel.values[v].axes.end());
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

}  // namespace autoperfect

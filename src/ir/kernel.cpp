#include "ir/kernel.h"

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

}  // namespace autoperfect

#include "generate/schedule/online.h"

namespace autoperfect::schedule {
namespace {

const KernelValue* value_of(const Kernel& kernel, const KernelOperand& operand, Op op, Dtype dtype) {
  if (operand.kind != KernelOperand::Kind::value) return nullptr;
  const auto& value = kernel.values[operand.id];
  return value.op == op && value.dtype == dtype ? &value : nullptr;
}

// What widened values were: the largest of them is the largest of those.
const KernelOperand& before_widening(const Kernel& kernel, const KernelOperand& operand) {
  const auto* value = value_of(kernel, operand, Op::cast, Dtype::f32);
  if (!value || !is_half(operand_dtype(kernel, *value, 0))) return operand;
  return value->operands[0];
}

int difference_of(const Kernel& kernel, const KernelValue& sum) {
  if (sum.op != Op::sum || sum.dtype != Dtype::f32) return -1;
  const auto* exponential = value_of(kernel, sum.operands[0], Op::exp, Dtype::f32);
  const auto* difference =
      exponential ? value_of(kernel, exponential->operands[0], Op::sub, Dtype::f32) : nullptr;
  if (!difference) return -1;
  const auto& subtracted = before_widening(kernel, difference->operands[1]);
  if (subtracted.kind != KernelOperand::Kind::value) return -1;
  const auto& largest = kernel.values[subtracted.id];
  if (largest.op != Op::max || largest.reduced != sum.reduced) return -1;
  const bool is_of_the_same =
      before_widening(kernel, largest.operands[0]) == before_widening(kernel, difference->operands[0]);
  return is_of_the_same ? static_cast<int>(difference - kernel.values.data()) : -1;
}

}  // namespace

std::vector<int> online_sums(const Kernel& kernel) {
  std::vector<int> differences;
  for (const auto& value : kernel.values)
    differences.push_back(difference_of(kernel, value));
  return differences;
}

}  // namespace autoperfect::schedule

// Which kernels can compute two neighbouring elements in one word: those of one half dtype, with operations
// that the prelude's 05_pairs.h has.
#include <algorithm>

#include "generate/schedule/cuda/mapping.h"

namespace autoperfect::schedule::cuda {
namespace {

bool has_pairs(const KernelValue& value) {
  switch (value.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::square:
    case Op::neg:
    case Op::abs:
    case Op::maximum:
    case Op::minimum:
    case Op::exp:
    case Op::expm1:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::log1p:
    case Op::tanh:
    case Op::sin:
    case Op::cos:
    case Op::erf:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::sigmoid:
      return true;
    case Op::power:
      return value.operands[1].kind == KernelOperand::Kind::literal &&
             (value.operands[1].literal == 2 || value.operands[1].literal == 3);
    default:
      return false;
  }
}

bool is_folded(const KernelValue& value) {
  return value.op == Op::sum || value.op == Op::max || value.op == Op::min;
}

}  // namespace

bool computes_pairs(const Kernel& kernel, const Nest& nest, const Passes& passes, int pack) {
  if (pack % 2 || nest.vector_group < 0 || nest.columns()) return false;
  if (!nest.groups[nest.vector_group].size.is_multiple_of(pack)) return false;
  Dtype half = kernel.buffers[0].type.dtype;
  if (!is_half(half)) return false;
  auto is_here = [&](const KernelOperand& operand, Dtype dtype) {
    if (operand.kind == KernelOperand::Kind::value || operand.kind == KernelOperand::Kind::literal)
      return dtype == half;
    if (operand.kind != KernelOperand::Kind::load || dtype != half) return false;
    auto& access = nest.accesses[nest.access_of(operand)];
    bool still = access.strides[nest.vector_group].is(0) && access.gathers.empty() && access.guards.empty();
    return still || moves_packs(kernel, nest, passes, access, pack);
  };
  for (size_t v = 0; v < kernel.values.size(); ++v) {
    auto& value = kernel.values[v];
    bool reduces = is_reduction(value);
    if (!reduces && !passes.varies[v]) continue;
    if (reduces ? !is_folded(value) : value.dtype != half || !has_pairs(value)) return false;
    bool varies = false;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      auto& operand = value.operands[i];
      if (!is_here(operand, operand_dtype(kernel, value, static_cast<int>(i)))) return false;
      if (operand.kind == KernelOperand::Kind::load)
        varies = varies || !nest.accesses[nest.access_of(operand)].strides[nest.vector_group].is(0);
      if (operand.kind == KernelOperand::Kind::value)
        varies = varies || nest.along_lanes(kernel.values[operand.id]);
    }
    if (!varies) return false;  // the same for all lanes: no pair
    if (!reduces && value.output >= 0 &&
        !moves_packs(kernel, nest, passes, nest.accesses[nest.store_of(value)], pack))
      return false;
  }
  return true;
}

}  // namespace autoperfect::schedule::cuda

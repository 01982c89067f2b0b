#include "gate/accumulated.h"

#include <algorithm>

#include "reference/reference.h"

namespace autoperfect {
namespace {

bool scans_half(const KernelValue& value) {
  return value.op != Op::cummax && value.op != Op::cummin && class_of(value.op) == OpClass::scan &&
         is_half(value.dtype);
}

Kernel with_scans_in_f32(const Kernel& source) {
  Kernel kernel = source;
  kernel.values.clear();
  std::vector<KernelValueId> ids;
  auto push = [&](KernelValue value) {
    kernel.values.push_back(std::move(value));
    return static_cast<KernelValueId>(kernel.values.size()) - 1;
  };
  for (KernelValue value : source.values) {
    for (auto& operand : value.operands) {
      if (operand.kind == KernelOperand::Kind::value) operand.id = ids[operand.id];
      for (auto& id : operand.gathered)
        id = id < 0 ? id : ids[id];
    }
    if (scans_half(value)) {
      KernelValue scan = value;
      scan.dtype = Dtype::f32;
      scan.output = -1;
      scan.store.clear();
      KernelOperand unrounded;
      unrounded.id = push(std::move(scan));
      value.op = Op::cast;
      value.scanned = -1;
      value.attributes = {};
      value.operands = {unrounded};
    }
    ids.push_back(push(std::move(value)));
  }
  return kernel;
}

}  // namespace

bool scans_halves(const Kernel& kernel) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), scans_half);
}

Result<std::vector<Tensor>> accumulated(const Kernel& kernel, const std::vector<Tensor>& inputs) {
  return run_reference(with_scans_in_f32(kernel), inputs, Precision::exact);
}

}  // namespace autoperfect

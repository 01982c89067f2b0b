#include "generate/schedule/extract.h"

#include "generate/schedule/access.h"

namespace autoperfect::schedule {
namespace {

// Only its base matters: whoever writes the loops gives it strides.
BufferId add_scratch(Kernel& kernel, BufferRole role) {
  Buffer buffer;
  buffer.name = "scratch";
  buffer.role = role;
  buffer.type = {Dtype::f32, {}};
  kernel.buffers.push_back(buffer);
  return static_cast<BufferId>(kernel.buffers.size()) - 1;
}

}  // namespace

Kernel keep_values(const Kernel& kernel, const std::vector<bool>& keep, std::vector<KernelValueId>& moved) {
  Kernel part = kernel;
  part.values.clear();
  moved.assign(kernel.values.size(), -1);
  for (size_t v = 0; v < kernel.values.size(); ++v) {
    if (!keep[v]) continue;
    moved[v] = static_cast<KernelValueId>(part.values.size());
    KernelValue value = kernel.values[v];
    for (auto& operand : value.operands) {
      if (operand.kind == KernelOperand::Kind::value) operand.id = moved[operand.id];
      for (auto& index : operand.gathered)
        if (index >= 0) index = moved[index];
    }
    part.values.push_back(std::move(value));
  }
  return part;
}

std::vector<bool> cone_of(const Kernel& kernel, const std::vector<KernelValueId>& wanted) {
  std::vector<bool> cone(kernel.values.size(), false);
  for (KernelValueId v : wanted)
    cone[v] = true;
  for (size_t v = cone.size(); v-- > 0;)
    if (cone[v])
      for (auto& operand : kernel.values[v].operands)
        for (KernelValueId needed : values_in(operand))
          cone[needed] = true;
  return cone;
}

Extract operand_part(const Kernel& kernel, KernelValueId value, int i) {
  KernelOperand operand = kernel.values[value].operands[i];
  std::vector<KernelValueId> moved;
  Extract part{keep_values(kernel, cone_of(kernel, values_in(operand)), moved)};
  for (auto& kept : part.kernel.values)
    kept.output = -1, kept.store.clear();
  KernelValue result;
  result.name = "packed";
  result.op = Op::cast;
  result.axes = axes_in(kernel, operand);
  if (operand.kind == KernelOperand::Kind::value) operand.id = moved[operand.id];
  for (auto& index : operand.gathered)
    if (index >= 0) index = moved[index];
  result.operands = {operand};
  part.scratch = result.output = add_scratch(part.kernel, BufferRole::out);
  part.result = static_cast<KernelValueId>(part.kernel.values.size());
  part.kernel.values.push_back(result);
  return part;
}

Extract stored_part(const Kernel& kernel, KernelValueId given) {
  Kernel cut = kernel;
  KernelOperand load;
  load.kind = KernelOperand::Kind::load;
  BufferId scratch = add_scratch(cut, BufferRole::in);
  load.id = scratch;
  auto& value = cut.values[given];
  value.op = Op::cast;
  value.reduced.clear();
  value.operands = {load};
  std::vector<KernelValueId> stored, moved;
  for (size_t v = 0; v < cut.values.size(); ++v)
    if (cut.values[v].output >= 0) stored.push_back(static_cast<KernelValueId>(v));
  return {keep_values(cut, cone_of(cut, stored), moved), scratch, -1};
}

}  // namespace autoperfect::schedule

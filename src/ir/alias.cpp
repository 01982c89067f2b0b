#include "ir/alias.h"

#include <algorithm>

#include "ir/layout.h"

namespace autoperfect {

namespace {

bool are_alike(const Buffer& a, const Buffer& b) {
  return is_row(a) && is_row(b) && a.type.shape == b.type.shape && a.dynamic_dims == b.dynamic_dims &&
         size_of(a.type.dtype) == size_of(b.type.dtype);
}

// The only value stored to it, or null.
const KernelValue* only_store(const Kernel& kernel, BufferId output) {
  const KernelValue* found = nullptr;
  for (const auto& value : kernel.values) {
    if (value.output != output) continue;
    if (found) return nullptr;
    found = &value;
  }
  return found;
}

// What lacks an axis of another output, or has none beside loops, may be computed again by each part of the
// kernel that runs for itself.
bool is_computed_once(const Kernel& kernel, const std::vector<AxisId>& axes) {
  auto has = [&](AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  if (axes.empty() && !kernel.axes.empty()) return false;
  return std::all_of(kernel.values.begin(), kernel.values.end(), [&](const KernelValue& value) {
    return value.output < 0 || std::all_of(value.axes.begin(), value.axes.end(), has);
  });
}

}  // namespace

bool may_alias(const Kernel& kernel, BufferId output, BufferId input) {
  if (!are_alike(kernel.buffers[output], kernel.buffers[input])) return false;
  const auto* stored = only_store(kernel, output);
  if (!stored) return false;
  std::vector<bool> depends(kernel.values.size(), false);
  for (size_t v = 0; v < kernel.values.size(); ++v) {
    const auto& value = kernel.values[v];
    for (const auto& operand : value.operands) {
      if (operand.kind == KernelOperand::Kind::value) depends[v] = depends[v] || depends[operand.id];
      if (operand.kind != KernelOperand::Kind::load) continue;
      for (auto index : operand.gathered)
        depends[v] = depends[v] || (index >= 0 && depends[index]);
      if (operand.id != input) continue;
      if (operand.index != stored->store || operand.guarded || operand.gathers()) return false;
      depends[v] = true;
    }
    if (!depends[v]) continue;
    if (class_of(value.op) != OpClass::elementwise || value.axes != stored->axes) return false;
    if (value.output >= 0 && value.output != output) return false;
  }
  return depends[static_cast<size_t>(stored - kernel.values.data())];
}

void choose_aliases(Kernel& kernel) {
  std::vector<bool> taken(kernel.buffers.size(), false);
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    auto& buffer = kernel.buffers[b];
    const auto* stored = only_store(kernel, static_cast<BufferId>(b));
    if (buffer.role != BufferRole::out || !stored || !is_computed_once(kernel, stored->axes)) continue;
    for (size_t i = 0; i < b && buffer.alias < 0; ++i) {
      if (kernel.buffers[i].role != BufferRole::in || taken[i]) continue;
      if (!may_alias(kernel, static_cast<BufferId>(b), static_cast<BufferId>(i))) continue;
      buffer.alias = static_cast<BufferId>(i);
      taken[i] = true;
    }
  }
}

}  // namespace autoperfect

#include "ir/gathered_inputs.h"

#include <algorithm>

namespace autoperfect {

std::vector<int64_t> gathered_sizes(const Kernel& kernel) {
  std::vector<int64_t> of_values(kernel.values.size(), 0), of_buffers(kernel.buffers.size(), 0);
  auto index = [](int64_t& known, int64_t size) { known = known == 0 ? size : std::min(known, size); };
  // Values come after what they use, so one walk from the last to the first sees every use before its value.
  for (size_t v = kernel.values.size(); v-- > 0;) {
    const auto& value = kernel.values[v];
    for (const auto& operand : value.operands) {
      for (size_t d = 0; d < operand.gathered.size(); ++d) {
        if (operand.gathered[d] >= 0)
          index(of_values[operand.gathered[d]], kernel.buffers[operand.id].type.shape[d]);
      }
    }
  }
  for (size_t v = kernel.values.size(); v-- > 0;) {
    if (of_values[v] == 0) continue;
    for (const auto& operand : kernel.values[v].operands) {
      if (operand.kind == KernelOperand::Kind::value && is_integer(kernel.values[operand.id].dtype))
        index(of_values[operand.id], of_values[v]);
      if (operand.kind == KernelOperand::Kind::load && is_integer(kernel.buffers[operand.id].type.dtype))
        index(of_buffers[operand.id], of_values[v]);
    }
  }
  return of_buffers;
}

}  // namespace autoperfect

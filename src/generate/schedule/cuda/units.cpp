#include "generate/schedule/cuda/units.h"

#include <algorithm>

namespace autoperfect::schedule::cuda {
namespace {

constexpr int64_t widest = 16;                    // elements of a pack
constexpr int64_t most_small = int64_t{1} << 30;  // what is numbered by ints, with room for the last blocks

bool is_length_of_rows(const Kernel& kernel, AxisId axis) {
  auto has_rows_of_it = [&](BufferId buffer, const std::vector<Affine>& index) {
    auto& shape = kernel.buffers[buffer].type.shape;
    bool is_last = !index.empty() && index.back() == Affine{0, {{axis, 1}}};
    return is_last && kernel.buffers[buffer].type.elements() > shape.back();
  };
  return std::any_of(kernel.values.begin(), kernel.values.end(), [&](const KernelValue& value) {
    return (value.output >= 0 && has_rows_of_it(value.output, value.store)) ||
           std::any_of(value.operands.begin(), value.operands.end(), [&](const KernelOperand& operand) {
             return operand.kind == KernelOperand::Kind::load && has_rows_of_it(operand.id, operand.index);
           });
  });
}

// The size up to which ints number everything; the largest there is where the size seen is beyond it.
int64_t most_for_ints(const Kernel& kernel, AxisId axis, int64_t multiple) {
  const int64_t size = kernel.axes[axis].size;
  int64_t beside = 1;
  for (size_t a = 0; a < kernel.axes.size(); ++a)
    if (static_cast<AxisId>(a) != axis)
      beside = std::min(most_small, beside * std::max<int64_t>(kernel.axes[a].size, 1));
  for (const auto& buffer : kernel.buffers)
    beside = std::max(beside, (buffer.type.elements() + size - 1) / size);
  const int64_t most = (most_small - 1) / beside / multiple * multiple;
  return size <= most ? most : SizeGuard{}.most;
}

}  // namespace

SizeGuard unit_of_rows(const Kernel& kernel) {
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    if (!kernel.axes[a].dynamic || !is_length_of_rows(kernel, axis)) continue;
    int64_t multiple = widest;
    while (kernel.axes[a].size % multiple)
      multiple /= 2;
    if (multiple > 1) return {axis, multiple, multiple, most_for_ints(kernel, axis, multiple)};
  }
  return {};
}

Nest in_units(Nest nest, int64_t unit) {
  if (unit == 1) return nest;
  auto count = [&](Extent& extent) { extent = extent.in_units(0, unit); };
  for (auto& group : nest.groups)
    count(group.size);
  for (auto& access : nest.accesses) {
    count(access.offset);
    for (auto& stride : access.strides)
      count(stride);
    for (auto& gather : access.gathers) {
      count(gather.stride);
      count(gather.size);
    }
    for (auto& guard : access.guards)
      count(guard.size);
  }
  return nest;
}

std::string of_size(std::string expression, int64_t unit) {
  if (unit == 1) return expression;
  const std::string whole = "(d0 / " + std::to_string(unit) + ")";
  for (size_t at = 0; (at = expression.find("d0", at)) != std::string::npos; at += whole.size())
    expression.replace(at, 2, whole);
  return expression;
}

}  // namespace autoperfect::schedule::cuda

#include "lower/open_axes.h"

#include <algorithm>

namespace autoperfect {
namespace {

// The dimensions an axis is the size of, where it may have any: no reduction or scan runs along it, every
// buffer it indexes is indexed by it alone, along one whole dimension, and some input tells the size. Else
// none.
std::vector<std::pair<BufferId, size_t>> dims_it_opens(const Kernel& kernel, AxisId axis) {
  const Affine itself{0, {{axis, 1}}};
  std::vector<std::pair<BufferId, size_t>> dims;
  auto admits = [&](BufferId buffer, const std::vector<Affine>& index) {
    for (size_t d = 0; d < index.size(); ++d) {
      bool uses =
          std::any_of(index[d].terms.begin(), index[d].terms.end(), [&](auto& t) { return t.first == axis; });
      if (!uses) continue;
      if (!(index[d] == itself) || kernel.buffers[buffer].type.shape[d] != kernel.axes[axis].size)
        return false;
      dims.push_back({buffer, d});
    }
    return true;
  };
  for (auto& value : kernel.values) {
    if (value.scanned == axis || std::count(value.reduced.begin(), value.reduced.end(), axis)) return {};
    for (auto& operand : value.operands)
      if (operand.kind == KernelOperand::Kind::load && !admits(operand.id, operand.index)) return {};
    if (value.output >= 0 && !admits(value.output, value.store)) return {};
  }
  // A buffer read whole in one place and at another index elsewhere would change its meaning with the size.
  for (auto& value : kernel.values)
    for (auto& operand : value.operands)
      if (operand.kind == KernelOperand::Kind::load)
        for (auto& [buffer, d] : dims)
          if (operand.id == buffer && !(operand.index[d] == itself)) return {};
  auto is_input = [&](const auto& dim) { return kernel.buffers[dim.first].role == BufferRole::in; };
  if (std::none_of(dims.begin(), dims.end(), is_input)) return {};
  return dims;
}

void open_axis(Kernel& kernel, AxisId axis) {
  const auto dims = dims_it_opens(kernel, axis);
  kernel.axes[axis].dynamic = !dims.empty();
  for (auto& [buffer, d] : dims)
    kernel.buffers[buffer].dynamic_dims[d] = axis;
}

// The outermost axis, where little is left at its own size; else the first that leaves so little, or the
// least of all: what is left is what each family of inputs of the gate takes, which gives fewer of them to
// kernels that take long. Where all of it is little, no other than the outermost: code of a fixed size is as
// good, and loops over few elements are better. The innermost, and others of a product than its rows, only
// where none else is open.
AxisId axis_to_open(const Kernel& kernel, const std::vector<bool>& closed) {
  constexpr int64_t little = int64_t{1} << 17, most = int64_t{1} << 60;
  int64_t work = 1;
  for (const auto& axis : kernel.axes)
    work = work > most / std::max<int64_t>(axis.size, 1) ? most : work * std::max<int64_t>(axis.size, 1);
  const bool multiplies = std::any_of(
      kernel.values.begin(), kernel.values.end(), [](const KernelValue& v) { return v.op == Op::matmul; });
  AxisId best = -1;
  int64_t least = work;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const bool is_last_resort = multiplies || a + 1 == kernel.axes.size();
    if ((a > 0 && work <= 2 * little) || (best >= 0 && (is_last_resort || least <= little))) break;
    const auto axis = static_cast<AxisId>(a);
    const int64_t left = work / std::max<int64_t>(kernel.axes[a].size, 1);
    if ((best >= 0 && left >= least) || closed[a] || dims_it_opens(kernel, axis).empty()) continue;
    best = axis;
    least = left;
  }
  return best;
}

}  // namespace

void open_axes(Kernel& kernel, OpenAxes open, const std::vector<bool>& closed) {
  if (open == OpenAxes::outermost) {
    if (const AxisId axis = axis_to_open(kernel, closed); axis >= 0) open_axis(kernel, axis);
    return;
  }
  for (size_t axis = 0; axis < kernel.axes.size(); ++axis)
    if (!closed[axis]) open_axis(kernel, static_cast<AxisId>(axis));
}

}  // namespace autoperfect

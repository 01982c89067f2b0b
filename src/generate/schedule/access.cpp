#include "generate/schedule/access.h"

#include <set>

#include "ir/affine.h"
#include "ir/layout.h"

namespace autoperfect::schedule {
namespace {

bool is_dynamic(const Buffer& buffer, size_t d) {
  return d < buffer.dynamic_dims.size() && buffer.dynamic_dims[d] >= 0;
}

Extent size_of_dimension(const Kernel& kernel, const Buffer& buffer, size_t d) {
  return is_dynamic(buffer, d) ? size_of(kernel, buffer.dynamic_dims[d]) : Extent(buffer.type.shape[d]);
}

std::vector<Extent> buffer_strides(const Kernel& kernel, BufferId b) {
  auto& buffer = kernel.buffers[b];
  auto& given = buffer.layout.strides;
  std::vector<Extent> strides(buffer.type.shape.size());
  Extent step = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = given.empty()             ? step
                 : given[d] == free_stride ? Extent::dim(dim_of_stride(kernel, b, d))
                                           : Extent(given[d]);
    step = step.times(size_of_dimension(kernel, buffer, d));
  }
  return strides;
}

// For every size of the dynamic axes.
bool always_inside(const Kernel& kernel, const Affine& index, const Buffer& buffer, size_t d) {
  if (is_dynamic(buffer, d))
    return index.offset == 0 && index.terms.size() == 1 && index.terms[0].second == 1 &&
           index.terms[0].first == buffer.dynamic_dims[d];
  for (auto& [axis, step] : index.terms)
    if (kernel.axes[axis].dynamic) return false;
  return in_bounds(index, kernel.axes, 0, buffer.type.shape[d]);
}

}  // namespace

Extent size_of(const Kernel& kernel, AxisId axis) {
  return kernel.axes[axis].dynamic ? Extent::dim(dim_of_axis(kernel, axis)) : Extent(kernel.axes[axis].size);
}

std::vector<KernelValueId> values_in(const KernelOperand& operand) {
  std::vector<KernelValueId> values;
  if (operand.kind == KernelOperand::Kind::value) values.push_back(operand.id);
  for (KernelValueId v : operand.gathered)
    if (v >= 0) values.push_back(v);
  return values;
}

std::vector<AxisId> axes_in(const Kernel& kernel, const KernelOperand& operand) {
  std::set<AxisId> axes;
  if (operand.kind == KernelOperand::Kind::iota) axes.insert(operand.id);
  for (auto& index : operand.index)
    for (auto& [axis, step] : index.terms)
      axes.insert(axis);
  for (KernelValueId v : values_in(operand))
    axes.insert(kernel.values[v].axes.begin(), kernel.values[v].axes.end());
  return {axes.begin(), axes.end()};
}

KernelOperand store_operand(const KernelValue& value) {
  KernelOperand at;
  at.kind = KernelOperand::Kind::load;
  at.id = value.output;
  at.index = value.store;
  return at;
}

std::optional<AccessMap> map_access(const Kernel& kernel, const KernelOperand& at, Access& access) {
  auto& buffer = kernel.buffers[at.id];
  auto strides = buffer_strides(kernel, at.id);
  access.buffer = at.id;
  access.at = at;
  access.offset = buffer.layout.offset;
  AccessMap map;
  map.strides.resize(kernel.axes.size());
  for (size_t d = 0; d < at.index.size(); ++d) {
    Extent size = size_of_dimension(kernel, buffer, d);
    if (at.gathers() && at.gathered[d] >= 0) {
      if (size.is(0)) return std::nullopt;
      access.gathers.push_back({at.gathered[d], strides[d], size});
      continue;
    }
    access.offset = access.offset.plus(strides[d].times(at.index[d].offset));
    for (auto& [axis, step] : at.index[d].terms)
      map.strides[axis] = map.strides[axis].plus(strides[d].times(step));
    if (at.guarded && !always_inside(kernel, at.index[d], buffer, d)) {
      map.guards.push_back(at.index[d]);
      access.guards.push_back({at.index[d].offset, {}, size});
    }
  }
  return map;
}

}  // namespace autoperfect::schedule

#include "generate/schedule/nest.h"

#include <algorithm>
#include <set>

#include "generate/schedule/access.h"
#include "ir/layout.h"

namespace autoperfect::schedule {
namespace {

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

class Finder {
 public:
  explicit Finder(const Kernel& kernel) : kernel_(kernel) {}

  std::optional<Nest> run(std::vector<Group> groups, bool with_loops) {
    for (auto& value : kernel_.values) {
      used_.insert(value.axes.begin(), value.axes.end());
      used_.insert(value.reduced.begin(), value.reduced.end());
      for (AxisId axis : value.reduced)
        swept_.insert(axis);
      if (value.scanned >= 0) swept_.insert(value.scanned), pinned_.insert(value.scanned);
      for (auto& operand : value.operands)
        if (operand.kind == KernelOperand::Kind::iota) pinned_.insert(operand.id);
    }
    if (with_loops && !reduced_alike()) return std::nullopt;
    if (!find_accesses()) return std::nullopt;
    nest_.groups = std::move(groups);
    if (nest_.groups.empty())
      for (bool swept : {false, true})
        collapse(swept);
    for (size_t a = 0; a < nest_.accesses.size(); ++a)
      by_groups(nest_.accesses[a], maps_[a]);
    if (with_loops && !choose_loops()) return std::nullopt;
    return std::move(nest_);
  }

 private:
  // The loops of one reduction are those of all: one that sums over fewer axes would count its terms again.
  bool reduced_alike() const {
    return std::all_of(kernel_.values.begin(), kernel_.values.end(), [&](const KernelValue& value) {
      return value.reduced.empty() || std::set<AxisId>(value.reduced.begin(), value.reduced.end()) == swept_;
    });
  }
  bool find_accesses();
  bool add_access(const KernelOperand& at);
  void by_groups(Access& access, const AccessMap& map) const;
  bool mergeable(AxisId outer, AxisId inner) const;
  void collapse(bool swept);
  bool choose_loops();
  bool unit_stride_along(int group) const;
  bool reads_strided_memory() const;
  bool one_sweep() const;

  const Kernel& kernel_;
  std::set<AxisId> used_, swept_, pinned_;
  Nest nest_;
  std::vector<AccessMap> maps_;  // per access
};

bool Finder::add_access(const KernelOperand& at) {
  if (nest_.access_of(at) >= 0) return true;
  Access access;
  auto map = map_access(kernel_, at, access);
  if (!map) return false;
  for (auto& guard : map->guards)
    for (auto& [axis, step] : guard.terms)
      pinned_.insert(axis);
  nest_.accesses.push_back(std::move(access));
  maps_.push_back(std::move(*map));
  return true;
}

bool Finder::find_accesses() {
  for (auto& value : kernel_.values) {
    for (auto& operand : value.operands)
      if (operand.kind == KernelOperand::Kind::load && !add_access(operand)) return false;
    if (value.output >= 0 && !add_access(store_operand(value))) return false;
  }
  return true;
}

// A group's last axis stands for all: the others follow by its size. Axes of guards are groups of their own.
void Finder::by_groups(Access& access, const AccessMap& map) const {
  for (auto& group : nest_.groups)
    access.strides.push_back(map.strides[group.axes.back()]);
  for (size_t k = 0; k < map.guards.size(); ++k) {
    access.guards[k].steps.assign(nest_.groups.size(), 0);
    for (auto& [axis, step] : map.guards[k].terms)
      if (int group = nest_.group_of(axis); group >= 0) access.guards[k].steps[group] = step;
  }
}

bool Finder::mergeable(AxisId outer, AxisId inner) const {
  if (pinned_.count(outer) || pinned_.count(inner)) return false;
  for (auto& value : kernel_.values)
    if (contains(value.axes, outer) != contains(value.axes, inner)) return false;
  Extent size = size_of(kernel_, inner);
  for (auto& map : maps_)
    if (!(map.strides[outer] == map.strides[inner].times(size))) return false;
  return true;
}

void Finder::collapse(bool swept) {
  size_t first = nest_.groups.size();
  for (AxisId axis = 0; axis < static_cast<AxisId>(kernel_.axes.size()); ++axis) {
    if (swept_.count(axis) != static_cast<size_t>(swept)) continue;
    auto& info = kernel_.axes[axis];
    if (!used_.count(axis)) continue;
    if (!swept && info.size == 1 && !info.dynamic) continue;
    if (nest_.groups.size() > first && mergeable(nest_.groups.back().axes.back(), axis)) {
      auto& group = nest_.groups.back();
      group.axes.push_back(axis);
      group.size = group.size.times(size_of(kernel_, axis));
      group.seen_size *= info.size;
      continue;
    }
    nest_.groups.push_back({{axis}, size_of(kernel_, axis), info.size, swept});
  }
}

// Memory is contiguous along the group in the largest buffer that moves along it at all.
bool Finder::unit_stride_along(int group) const {
  int64_t most = -1;
  bool unit = false;
  for (auto& access : nest_.accesses) {
    int64_t bytes = kernel_.buffers[access.buffer].type.bytes();
    if (access.strides[group].is(0) || bytes <= most) continue;
    most = bytes;
    unit = access.strides[group].is(1);
  }
  return unit || most < 0;
}

// Then no order of the loops may make its lanes neighbours.
bool Finder::reads_strided_memory() const {
  return std::any_of(
      kernel_.buffers.begin(), kernel_.buffers.end(), [](const Buffer& buffer) { return !is_row(buffer); });
}

// Nothing that varies over a reduced axis waits for a reduction, and the order of elements does not matter.
bool Finder::one_sweep() const {
  std::vector<bool> late(kernel_.values.size(), false);
  for (size_t v = 0; v < kernel_.values.size(); ++v) {
    auto& value = kernel_.values[v];
    bool positional = value.op == Op::argmax || value.op == Op::argmin || value.scanned >= 0;
    bool waits = false;
    for (auto& operand : value.operands)
      for (KernelValueId needed : values_in(operand))
        waits |= late[needed];
    if (positional || (waits && (!value.axes.empty() || !value.reduced.empty()))) return false;
    late[v] = waits || !value.reduced.empty();
  }
  return true;
}

bool Finder::choose_loops() {
  int count = static_cast<int>(nest_.groups.size());
  int parallel = static_cast<int>(
      std::count_if(nest_.groups.begin(), nest_.groups.end(), [](const Group& g) { return !g.swept; }));
  nest_.vector_group = count - 1;
  if (count == parallel) {
    nest_.shape = count <= 1 ? Shape::flat : Shape::rows;
    for (int g = 0; g + 1 < count; ++g)
      nest_.unit_groups.push_back(g);
    return true;
  }
  bool across = parallel > 0 && unit_stride_along(parallel - 1);
  if (!unit_stride_along(count - 1) && !across && !reads_strided_memory()) return false;
  if (!unit_stride_along(count - 1) && across) {
    nest_.vector_group = parallel - 1;
    nest_.shape = parallel == 1 ? Shape::columns_flat : Shape::columns_rows;
    for (int g = 0; g + 1 < parallel; ++g)
      nest_.unit_groups.push_back(g);
    for (int g = parallel; g < count; ++g)
      nest_.inner_groups.push_back(g);
    return true;
  }
  if (parallel == 0 && one_sweep()) {
    nest_.shape = count == 1 ? Shape::full_flat : Shape::full_rows;
    for (int g = 0; g + 1 < count; ++g)
      nest_.unit_groups.push_back(g);
    return true;
  }
  nest_.shape = Shape::rows;
  for (int g = 0; g < parallel; ++g)
    nest_.unit_groups.push_back(g);
  for (int g = parallel; g + 1 < count; ++g)
    nest_.inner_groups.push_back(g);
  return true;
}

}  // namespace

int Nest::group_of(AxisId axis) const {
  for (size_t g = 0; g < groups.size(); ++g)
    if (contains(groups[g].axes, axis)) return static_cast<int>(g);
  return -1;
}

int Nest::access_of(const KernelOperand& load) const {
  for (size_t a = 0; a < accesses.size(); ++a)
    if (accesses[a].at == load) return static_cast<int>(a);
  return -1;
}

int Nest::store_of(const KernelValue& value) const {
  return access_of(store_operand(value));
}

bool Nest::along_lanes(const KernelValue& value) const {
  return vector_group >= 0 && std::any_of(value.axes.begin(), value.axes.end(), [&](AxisId axis) {
           return contains(groups[vector_group].axes, axis);
         });
}

std::optional<Nest> find_nest(const Kernel& kernel) {
  return Finder(kernel).run({}, true);
}

std::optional<Nest> find_groups(const Kernel& kernel, std::vector<Group> groups) {
  return Finder(kernel).run(std::move(groups), false);
}

}  // namespace autoperfect::schedule

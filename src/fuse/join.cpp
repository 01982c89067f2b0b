// Units of one level never depend on each other. Those that read the same tensor share the trip to memory;
// those that do the same to other tensors of one shape share a launch.
#include <algorithm>
#include <map>
#include <optional>

#include "fuse/grow.h"
#include "fuse/trace.h"

namespace autoperfect {
namespace {

// A launch saved must be felt: this share of the time of the two.
constexpr double least_share_saved = 0.1;

}  // namespace

// Each unit as late as what reads it allows, so that what many levels make for one place meets there.
void Growth::delay_levels() {
  std::vector<int> order;
  int last = 0;
  for (size_t u = 0; u < units_.size(); ++u) {
    if (units_[u].nodes.empty() || graph_.nodes[units_[u].nodes[0]].results.empty()) continue;
    order.push_back(static_cast<int>(u));
    last = std::max(last, units_[u].level);
  }
  std::stable_sort(
      order.begin(), order.end(), [&](int a, int b) { return units_[a].level > units_[b].level; });
  for (int u : order) {
    int level = last;
    for (NodeId id : units_[u].nodes) {
      for (ValueId result : graph_.nodes[id].results)
        for (int reader : reader_units(result))
          level = std::min(level, units_[reader].level - 1);
      // Should the other kernel not come to be, what it computes again is read after all.
      if (unit_of_[id] == u)
        for (int other : copied_to_[id])
          level = std::min(level, units_[other].level - 1);
    }
    units_[u].level = level;
  }
}

void Growth::join_readers() {
  std::map<std::pair<int, ValueId>, int> reader;
  for (int u = 0; u < static_cast<int>(units_.size()); ++u) {
    if (!units_[u].fusable || units_[u].nodes.empty()) continue;
    std::vector<ValueId> reads;
    for (ValueId v : units_[u].reads)
      if (graph_.type(v).rank() > 0) reads.push_back(v);
    int home = u, refused = -1;
    for (ValueId v : reads) {
      auto known = reader.find({units_[u].level, v});
      if (known == reader.end() || known->second == refused || units_[known->second].nodes.empty()) continue;
      if (merge(known->second, u)) {
        home = known->second;
        break;
      }
      refused = known->second;
    }
    for (ValueId v : reads)
      reader[{units_[home].level, v}] = home;
  }
}

// One kernel for many tensors of one shape, such as the parameters of a model in an optimizer's step.
void Growth::join_alike() {
  struct Group {
    int unit;
    RegionCost cost;
  };
  auto cost = [&](const std::vector<NodeId>& nodes,
                  const std::vector<ValueId>& reads,
                  const std::vector<ValueId>& outputs) {
    return cost_of(graph_, nodes, reads, outputs, target_);
  };
  // Only where there is another of the same level and shape it is worth to look closer.
  auto rough = [&](const Unit& unit) {
    return std::pair(unit.level, graph_.type(graph_.nodes[unit.nodes.back()].results[0]).shape);
  };
  std::map<std::pair<int, Shape>, int> alike;
  for (auto& unit : units_)
    if (unit.fusable && !unit.nodes.empty()) ++alike[rough(unit)];
  using Key = std::tuple<int, RegionKind, std::vector<int64_t>, std::vector<bool>>;
  std::map<Key, Group> groups;
  for (int u = 0; u < static_cast<int>(units_.size()); ++u) {
    if (!units_[u].fusable || units_[u].nodes.empty()) continue;
    if (alike[rough(units_[u])] < 2) continue;
    auto outputs = outputs_of(u);
    auto traced = trace(graph_, units_[u].nodes, outputs);
    auto* found = std::get_if<Trace>(&traced);
    if (!found || found->kind == RegionKind::contraction || found->sizes.empty()) continue;
    auto alone = cost(units_[u].nodes, units_[u].reads, outputs);
    Key key{units_[u].level, found->kind, found->sizes, found->reduced};
    auto [at, fresh] = groups.try_emplace(key, Group{u, alone});
    if (fresh) continue;
    Group& group = at->second;
    bool joined = false;
    if (target_.launch_seconds > least_share_saved * (alone.fused_seconds + group.cost.fused_seconds))
      joined = merge(group.unit, u);
    if (joined) {
      group.cost.fused_seconds += alone.fused_seconds - target_.launch_seconds;
    } else {
      group = {u, alone};
    }
  }
}

}  // namespace autoperfect

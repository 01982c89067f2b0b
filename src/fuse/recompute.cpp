// What is cheap to compute again is computed in each kernel that reads it: a cast or a mask read by two
// reductions need not lie in memory.
#include <algorithm>
#include <set>

#include "cost/weight.h"
#include "fuse/grow.h"
#include "fuse/legal.h"

namespace autoperfect {
namespace {

constexpr size_t most_copied_nodes = 6;
constexpr size_t most_readers = 4;

}  // namespace

void Growth::recompute() {
  for (int u = static_cast<int>(units_.size()) - 1; u >= 0; --u) {
    if (!units_[u].fusable || units_[u].nodes.empty()) continue;
    bool changed = false;
    auto outputs = outputs_of(u);
    for (auto it = outputs.rbegin(); it != outputs.rend(); ++it)
      changed |= recompute_value(u, *it);
    if (changed) prune(u);
  }
}

// The nodes of the unit that `value` is made from, ascending; empty when they are too many or too dear.
std::vector<NodeId> Growth::cheap_cone(int unit, ValueId value) const {
  std::set<NodeId> cone{graph_.values[value].producer};
  std::vector<NodeId> open(cone.begin(), cone.end());
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    const Node& node = graph_.nodes[id];
    if (class_of(node.op) != OpClass::elementwise || weight_of(node.op) > Weight::light) return {};
    for (ValueId v : reads_of(graph_, flow_, id)) {
      NodeId p = graph_.values[v].producer;
      if (p >= 0 && contains(unit, p) && cone.insert(p).second) open.push_back(p);
    }
    if (cone.size() > most_copied_nodes) return {};
  }
  return {cone.begin(), cone.end()};
}

// Moves `value` out of memory: all that read it compute it themselves. All or none, and only when fewer bytes
// move.
bool Growth::recompute_value(int unit, ValueId value) {
  if (flow_.is_output[value]) return false;
  auto readers = reader_units(value);
  if (readers.size() > most_readers) return false;
  auto cone = cheap_cone(unit, value);
  if (cone.empty()) return false;
  int64_t reread = 0;
  for (NodeId id : cone)
    for (ValueId v : reads_of(graph_, flow_, id)) {
      NodeId p = graph_.values[v].producer;
      if (p < 0 || !std::binary_search(cone.begin(), cone.end(), p)) reread += graph_.type(v).bytes();
    }
  auto times = static_cast<int64_t>(readers.size());
  if (reread * times >= graph_.type(value).bytes() * (1 + times)) return false;
  Unit copied;
  copied.nodes = cone;
  for (NodeId id : cone)
    for (ValueId v : reads_of(graph_, flow_, id))
      copied.reads.push_back(v);
  std::sort(copied.reads.begin(), copied.reads.end());
  for (int r : readers)
    if (!units_[r].fusable || !why_not(union_of(units_[r], copied)).empty()) return false;
  for (int r : readers) {
    auto& copies = units_[r].copies;
    for (NodeId id : cone) {
      if (contains(r, id)) continue;
      copies.insert(std::lower_bound(copies.begin(), copies.end(), id), id);
      copied_to_[id].push_back(r);
    }
    auto kept = units_[r].copies;
    int level = units_[r].level;
    units_[r] = union_of(units_[r], copied);
    units_[r].copies = std::move(kept);
    units_[r].level = level;
  }
  return true;
}

// Nodes that make no output any more go.
void Growth::prune(int unit) {
  std::set<NodeId> needed;
  std::vector<NodeId> open;
  for (ValueId v : outputs_of(unit))
    if (needed.insert(graph_.values[v].producer).second) open.push_back(graph_.values[v].producer);
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    for (ValueId v : reads_of(graph_, flow_, id)) {
      NodeId p = graph_.values[v].producer;
      if (p >= 0 && contains(unit, p) && needed.insert(p).second) open.push_back(p);
    }
  }
  for (NodeId id : units_[unit].nodes) {
    if (needed.count(id)) continue;
    if (unit_of_[id] == unit) unit_of_[id] = -1;
    std::erase(copied_to_[id], unit);
  }
  auto gone = [&](NodeId id) { return !needed.count(id); };
  std::erase_if(units_[unit].nodes, gone);
  std::erase_if(units_[unit].copies, gone);
  units_[unit].reads = unit_reads(unit);
}

}  // namespace autoperfect

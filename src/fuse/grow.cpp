#include "fuse/grow.h"

#include <algorithm>
#include <map>
#include <set>

#include "fuse/domain.h"

namespace autoperfect {
namespace {

std::vector<NodeId> merged(const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
  std::vector<NodeId> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

class Grower {
 public:
  explicit Grower(const Graph& graph)
      : graph_(graph), uses_(find_uses(graph)), unit_of_(graph.nodes.size(), -1) {}

  Growth run() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id)
      place(id);
    sink();
    join_siblings();
    return std::move(growth_);
  }

 private:
  int unit_of_value(ValueId v) const {
    NodeId p = graph_.values[v].producer;
    return p < 0 ? -1 : unit_of_[p];
  }
  void place(NodeId id);
  void start(NodeId id, int level, bool fusable);
  std::string why_not(const std::vector<NodeId>& nodes) const;
  void absorb(int into, int from);
  void sink();
  void join_siblings();
  int only_reader(int unit) const;
  void stop(const std::set<int>& units, NodeId consumer, const std::string& reason);

  const Graph& graph_;
  Uses uses_;
  std::vector<int> unit_of_;
  Growth growth_;
};

void Grower::start(NodeId id, int level, bool fusable) {
  unit_of_[id] = static_cast<int>(growth_.units.size());
  growth_.units.push_back({{id}, level, fusable});
}

std::string Grower::why_not(const std::vector<NodeId>& nodes) const {
  if (nodes.size() > most_nodes) return "the kernel would hold over " + std::to_string(most_nodes) + " ops";
  std::set<ValueId> buffers;
  std::set<NodeId> member(nodes.begin(), nodes.end());
  for (NodeId id : nodes) {
    for (ValueId v : graph_.nodes[id].operands) {
      NodeId p = graph_.values[v].producer;
      if (!is_inlined(graph_, v) && (p < 0 || !member.count(p))) buffers.insert(v);
    }
  }
  if (buffers.size() > most_buffers)
    return "the kernel would read over " + std::to_string(most_buffers) + " buffers";
  auto domain = find_domain(graph_, nodes);
  auto* refusal = std::get_if<Refusal>(&domain);
  return refusal ? refusal->reason : "";
}

void Grower::stop(const std::set<int>& units, NodeId consumer, const std::string& reason) {
  for (int u : units)
    growth_.stops.push_back({growth_.units[u].nodes.back(), consumer, reason});
}

void Grower::absorb(int into, int from) {
  auto& target = growth_.units[into];
  target.nodes = merged(target.nodes, growth_.units[from].nodes);
  for (NodeId id : growth_.units[from].nodes)
    unit_of_[id] = into;
  growth_.units[from].nodes.clear();
}

void Grower::place(NodeId id) {
  const Node& node = graph_.nodes[id];
  if (!node.results.empty() && is_inlined(graph_, node.results[0])) return;
  int level = -1;
  std::set<int> latest;
  for (ValueId v : node.operands) {
    int u = unit_of_value(v);
    if (u < 0 || growth_.units[u].level < level) continue;
    if (growth_.units[u].level > level) latest.clear();
    level = growth_.units[u].level;
    latest.insert(u);
  }
  if (auto reason = why_not_fusable(graph_, id); !reason.empty()) {
    stop(latest, id, reason);
    return start(id, level + 1, false);
  }
  if (auto reason = why_not({id}); !reason.empty()) {
    stop(latest, id, reason);
    return start(id, level + 1, false);
  }
  bool after_boundary =
      std::any_of(latest.begin(), latest.end(), [&](int u) { return !growth_.units[u].fusable; });
  if (latest.empty() || after_boundary) return start(id, level + 1, true);
  std::vector<NodeId> together{id};
  for (int u : latest)
    together = merged(together, growth_.units[u].nodes);
  if (auto reason = why_not(together); !reason.empty()) {
    stop(latest, id, reason);
    return start(id, level + 1, true);
  }
  int first = *latest.begin();
  for (int u : latest)
    if (u != first) absorb(first, u);
  growth_.units[first].nodes = merged(growth_.units[first].nodes, {id});
  unit_of_[id] = first;
}

// The one fusable unit that reads everything `unit` gives; -1 when there are more, or it is returned.
int Grower::only_reader(int unit) const {
  int reader = -1;
  for (NodeId id : growth_.units[unit].nodes) {
    for (ValueId v : graph_.nodes[id].results) {
      if (uses_.is_output[v]) return -1;
      for (NodeId r : uses_.readers[v]) {
        int u = unit_of_[r];
        if (u == unit) continue;
        if (u < 0 || (reader >= 0 && u != reader)) return -1;
        reader = u;
      }
    }
  }
  return reader >= 0 && growth_.units[reader].fusable ? reader : -1;
}

// A unit read by one later unit alone can wait for it: moving work later never forms a cycle.
void Grower::sink() {
  for (int u = static_cast<int>(growth_.units.size()) - 1; u >= 0; --u) {
    if (!growth_.units[u].fusable || growth_.units[u].nodes.empty()) continue;
    int reader = only_reader(u);
    if (reader < 0) continue;
    auto together = merged(growth_.units[u].nodes, growth_.units[reader].nodes);
    if (why_not(together).empty()) absorb(reader, u);
  }
}

// Units of one level never depend on each other; those that read the same tensor share the trip to memory.
void Grower::join_siblings() {
  std::map<std::pair<int, ValueId>, int> first_reader;
  for (int u = 0; u < static_cast<int>(growth_.units.size()); ++u) {
    if (!growth_.units[u].fusable || growth_.units[u].nodes.empty()) continue;
    std::set<ValueId> read;
    for (NodeId id : growth_.units[u].nodes)
      for (ValueId v : graph_.nodes[id].operands)
        if (!is_inlined(graph_, v) && unit_of_value(v) != u && graph_.type(v).rank() > 0) read.insert(v);
    int home = u;
    for (ValueId v : read) {
      auto [it, fresh] = first_reader.try_emplace({growth_.units[u].level, v}, u);
      if (fresh || it->second == home || home != u) continue;
      auto together = merged(growth_.units[u].nodes, growth_.units[it->second].nodes);
      if (why_not(together).empty()) absorb(home = it->second, u);
    }
    if (home != u)
      for (ValueId v : read)
        first_reader[{growth_.units[home].level, v}] = home;
  }
}

}  // namespace

Growth grow_units(const Graph& graph) {
  return Grower(graph).run();
}

}  // namespace autoperfect

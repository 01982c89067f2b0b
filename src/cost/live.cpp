#include <algorithm>

#include "cost/bytes.h"
#include "cost/cost.h"
#include "cost/footprint.h"
#include "cost/mlx_cost.h"

namespace autoperfect {
namespace {

// Views share the memory of what they view.
std::vector<ValueId> find_owners(const Graph& graph) {
  std::vector<ValueId> owner(graph.values.size());
  for (size_t v = 0; v < owner.size(); ++v)
    owner[v] = static_cast<ValueId>(v);
  for (const auto& node : graph.nodes)
    if (class_of(node.op) == OpClass::view) owner[node.results[0]] = owner[node.operands[0]];
  return owner;
}

}  // namespace

int64_t peak_live_bytes(const Graph& graph, const std::vector<std::vector<NodeId>>& groups) {
  const auto owner = find_owners(graph);
  // Time of each node: its own position, or that of the last of its group.
  std::vector<NodeId> time(graph.nodes.size());
  for (size_t n = 0; n < time.size(); ++n)
    time[n] = static_cast<NodeId>(n);
  for (const auto& group : groups)
    for (NodeId id : group)
      time[id] = *std::max_element(group.begin(), group.end());
  const auto end = static_cast<NodeId>(graph.nodes.size());
  std::vector<NodeId> made(graph.values.size(), 0), last(graph.values.size(), -1);
  for (NodeId n = 0; n < end; ++n) {
    for (ValueId v : graph.nodes[n].results)
      if (owner[v] == v) made[v] = last[v] = time[n];
    for (ValueId v : graph.nodes[n].operands)
      last[owner[v]] = std::max(last[owner[v]], time[n]);
  }
  for (ValueId v : graph.outputs)
    last[owner[v]] = end;
  for (const auto& input : graph.inputs)
    last[input.value] = end;
  // In a group, what is made and read last at one time never exists, as only a node outside can read it
  // later.
  std::vector<bool> grouped(graph.nodes.size(), false);
  for (const auto& group : groups)
    for (NodeId id : group)
      grouped[id] = true;
  std::vector<double> change(graph.nodes.size() + 2, 0);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    NodeId p = graph.values[v].producer;
    if (owner[v] != static_cast<ValueId>(v) || last[v] < 0) continue;
    if (p >= 0 && grouped[p] && last[v] == made[v]) continue;
    double bytes = bytes_of(graph.values[v].type);
    change[made[v]] += bytes;
    change[last[v] + 1] -= bytes;
  }
  double live = 0, peak = 0;
  for (double step : change)
    peak = std::max(peak, live += step);
  return to_count(peak);
}

double unfused_seconds(const Graph& graph, const Target& target) {
  Uses uses = find_uses(graph);
  double seconds = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    seconds += mlx_seconds(graph, graph.nodes[n], !may_donate(graph, uses, static_cast<NodeId>(n)), target);
  return seconds;
}

}  // namespace autoperfect

#include "tune/estimate.h"

#include <algorithm>
#include <numeric>

namespace autoperfect {
namespace {

RegionCost cost_of_region(const Graph& graph, const Target& target) {
  std::vector<NodeId> nodes(graph.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  std::vector<ValueId> inputs;
  for (auto& input : graph.inputs)
    inputs.push_back(input.value);
  return cost_of(graph, nodes, inputs, graph.outputs, target);
}

// Threads that find work, by the launch.
double busy_threads(const Launch& launch, const Kernel& kernel, const Target& target) {
  int64_t units = 1;
  for (AxisId axis : launch.parallel)
    units *= kernel.axes.at(static_cast<size_t>(axis)).size;
  int64_t chunks = std::max<int64_t>(1, units / std::max<int64_t>(1, launch.grain));
  return static_cast<double>(std::min<int64_t>(chunks, std::max(1, target.threads)));
}

}  // namespace

double estimate_seconds(const Contestant& contestant, const Life& life, const Target& target) {
  if (contestant.runnable.graph) return unfused_seconds(*contestant.runnable.graph, target);
  auto cost = cost_of_region(life.runner().graph(), target);
  if (target.capability) return cost.fused_seconds;
  double idle =
      std::max(1, target.threads) / busy_threads(contestant.candidate.launch, life.kernel(), target);
  double stretched = std::max(cost.memory_seconds, cost.compute_seconds * idle) + cost.spill_seconds;
  double planned = std::max(cost.memory_seconds, cost.compute_seconds) + cost.spill_seconds;
  return cost.fused_seconds + stretched - planned;
}

}  // namespace autoperfect

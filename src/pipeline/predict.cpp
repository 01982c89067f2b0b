#include "pipeline/predict.h"

#include <unordered_map>

#include "cost/mlx_cost.h"
#include "pipeline/steps.h"

namespace autoperfect {

double predict_seconds(const Program& program, const Target& target) {
  std::unordered_map<const Executable*, double> seconds_of;
  for (size_t r = 0; r < program.executables().size(); ++r)
    if (auto* executable = program.executables()[r].get())
      seconds_of[executable] = program.plan().regions[r].cost.fused_seconds;
  const Graph& captured = program.captured().graph;
  const Graph& canonical = program.graph();
  const Uses captured_uses = find_uses(captured), canonical_uses = find_uses(canonical);
  double seconds = 0;
  for (const auto& step : program.steps().steps) {
    if (step.kind == Step::Kind::kernel) {
      seconds += seconds_of.at(step.executable.get());
      continue;
    }
    bool replayed = step.kind == Step::Kind::replay;
    const Graph& graph = replayed ? captured : canonical;
    bool fresh = !may_donate(graph, replayed ? captured_uses : canonical_uses, step.node);
    seconds += mlx_seconds(graph, graph.nodes[step.node], fresh, target);
  }
  return seconds;
}

}  // namespace autoperfect

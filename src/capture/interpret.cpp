// A graph from its first node to its last, each value freed after its last use.
#include <optional>

#include "capture/capture.h"

namespace autoperfect {

using mlx::core::array;

std::vector<array> interpret(const Graph& graph, const std::vector<array>& inputs) {
  std::vector<std::optional<array>> values(graph.values.size());
  std::vector<int32_t> uses_left(graph.values.size(), 0);
  for (const auto& node : graph.nodes) {
    for (auto operand : node.operands)
      ++uses_left[operand];
  }
  for (auto output : graph.outputs)
    ++uses_left[output];
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    values[graph.inputs[i].value] = inputs.at(i);
  std::vector<array> operands;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto& node = graph.nodes[n];
    operands.clear();
    for (auto operand : node.operands) {
      operands.push_back(*values[operand]);
      if (--uses_left[operand] == 0) values[operand].reset();
    }
    auto results = apply(graph, static_cast<NodeId>(n), operands);
    for (size_t i = 0; i < results.size(); ++i) {
      if (uses_left[node.results[i]] > 0) values[node.results[i]] = std::move(results[i]);
    }
  }
  std::vector<array> outputs;
  for (auto output : graph.outputs)
    outputs.push_back(*values[output]);
  return outputs;
}

}  // namespace autoperfect

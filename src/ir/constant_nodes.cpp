#include "ir/constant_nodes.h"

namespace autoperfect {

std::vector<bool> find_constant_nodes(const Graph& graph) {
  std::vector<bool> is_constant(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto& node = graph.nodes[n];
    const auto op_class = class_of(node.op);
    bool computes =
        op_class == OpClass::source || op_class == OpClass::elementwise || op_class == OpClass::view;
    for (auto operand : node.operands) {
      const NodeId producer = graph.values[operand].producer;
      computes = computes && producer >= 0 && is_constant[producer];
    }
    is_constant[n] = computes;
  }
  return is_constant;
}

}  // namespace autoperfect

#include "canonicalize/passes.h"

namespace autoperfect {

namespace {

// Depth first from the outputs, operands from left to right; a stack instead of recursion, graphs are deep.
class Order {
 public:
  explicit Order(const Graph& graph) : graph_(graph), visited_(graph.nodes.size(), false) {}

  std::vector<NodeId> run() {
    for (auto output : graph_.outputs)
      visit(graph_.values[output].producer);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].results.empty()) visit(static_cast<NodeId>(n));  // it is there for what it does
    }
    return std::move(order_);
  }

 private:
  struct Step {
    NodeId node;
    size_t next_operand;
  };

  void visit(NodeId root) {
    std::vector<Step> stack;
    enter(root, stack);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const auto& operands = graph_.nodes[node].operands;
      if (next < operands.size()) {
        const NodeId operand = graph_.values[operands[next++]].producer;
        enter(operand, stack);
      } else {
        order_.push_back(node);
        stack.pop_back();
      }
    }
  }

  void enter(NodeId node, std::vector<Step>& stack) {
    if (node < 0 || visited_[node]) return;
    visited_[node] = true;
    stack.push_back({node, 0});
  }

  const Graph& graph_;
  std::vector<bool> visited_;
  std::vector<NodeId> order_;
};

}  // namespace

Rewrite order_nodes(const Graph& source) {
  Rewriter to(source);
  for (auto node : Order(source).run())
    to.keep(source.nodes[node]);
  return std::move(to).finish();
}

}  // namespace autoperfect

#include <algorithm>

#include "canonicalize/passes.h"

namespace autoperfect {

namespace {

// Depth first from the outputs, operands from left to right; a stack instead of recursion, graphs are deep.
class Order {
 public:
  explicit Order(const Graph& graph)
      : graph_(graph), visited_(graph.nodes.size(), false), is_read_(graph.values.size(), false) {}

  void run() {
    for (auto output : graph_.outputs)
      visit(output);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].results.empty())
        visit_node(static_cast<NodeId>(n));  // it is there for what it does
    }
  }

  const std::vector<NodeId>& nodes() const { return nodes_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }  // as they are first read

 private:
  struct Step {
    NodeId node;
    size_t next_operand;
  };

  void visit(ValueId v) {
    if (graph_.values[v].producer < 0) {
      read_input(v);
    } else {
      visit_node(graph_.values[v].producer);
    }
  }

  void visit_node(NodeId root) {
    std::vector<Step> stack;
    enter(root, stack);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const auto& operands = graph_.nodes[node].operands;
      if (next < operands.size()) {
        const ValueId operand = operands[next++];
        const NodeId producer = graph_.values[operand].producer;
        producer < 0 ? read_input(operand) : enter(producer, stack);
      } else {
        nodes_.push_back(node);
        stack.pop_back();
      }
    }
  }

  void enter(NodeId node, std::vector<Step>& stack) {
    if (visited_[node]) return;
    visited_[node] = true;
    stack.push_back({node, 0});
  }

  void read_input(ValueId v) {
    if (!is_read_[v]) inputs_.push_back(v);
    is_read_[v] = true;
  }

  const Graph& graph_;
  std::vector<bool> visited_, is_read_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> inputs_;
};

// Arguments as they are, then captured arrays as they are first read, then those nothing reads.
std::vector<Input> ordered_inputs(const Graph& graph, const std::vector<ValueId>& read) {
  std::vector<int64_t> rank(graph.values.size(), static_cast<int64_t>(read.size()));
  for (size_t i = 0; i < read.size(); ++i)
    rank[read[i]] = static_cast<int64_t>(i);
  auto inputs = graph.inputs;
  std::stable_sort(inputs.begin(), inputs.end(), [&](const Input& a, const Input& b) {
    const bool a_is_argument = a.captured_hash.empty(), b_is_argument = b.captured_hash.empty();
    if (a_is_argument || b_is_argument) return a_is_argument && !b_is_argument;
    if (rank[a.value] != rank[b.value]) return rank[a.value] < rank[b.value];
    return a.captured_hash < b.captured_hash;
  });
  return inputs;
}

class Copy {
 public:
  explicit Copy(const Graph& source) : source_(source), value_of_(source.values.size(), -1) {
    graph_.name = source.name;
    graph_.values.reserve(source.values.size());
    graph_.nodes.reserve(source.nodes.size());
  }

  Rewrite run() && {
    Order order(source_);
    order.run();
    const auto inputs = ordered_inputs(source_, order.inputs());
    bool changed = order.nodes().size() != source_.nodes.size();
    for (size_t i = 0; i < inputs.size(); ++i) {
      changed |= inputs[i].value != source_.inputs[i].value;
      graph_.inputs.push_back({add_value(inputs[i].value), inputs[i].captured_hash});
    }
    for (size_t n = 0; n < order.nodes().size(); ++n) {
      changed |= order.nodes()[n] != static_cast<NodeId>(n);
      add_node(source_.nodes[order.nodes()[n]]);
    }
    for (auto output : source_.outputs)
      graph_.outputs.push_back(value_of_[output]);
    return {std::move(graph_), std::move(value_of_), changed};
  }

 private:
  ValueId add_value(ValueId source) {
    value_of_[source] = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(source_.values[source]);
    return value_of_[source];
  }

  void add_node(const Node& node) {
    const auto id = static_cast<NodeId>(graph_.nodes.size());
    Node copy{node.op, {}, {}, node.attributes, node.where};
    for (auto operand : node.operands)
      copy.operands.push_back(value_of_[operand]);
    for (auto result : node.results) {
      copy.results.push_back(add_value(result));
      graph_.values.back().producer = id;
    }
    graph_.nodes.push_back(std::move(copy));
  }

  const Graph& source_;
  Graph graph_;
  std::vector<ValueId> value_of_;
};

}  // namespace

Rewrite order_nodes(const Graph& source) {
  return Copy(source).run();
}

}  // namespace autoperfect

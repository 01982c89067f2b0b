#include <algorithm>

#include "canonicalize/passes.h"
#include "ir/shape.h"

namespace autoperfect {

namespace {

// A reshape that only adds leading ones, which an elementwise op does by itself.
bool adds_leading_ones(const Rewriter& graph, const Node& view) {
  if (view.op != Op::reshape) return false;
  const Shape& from = graph.type(view.operands[0]).shape;
  const Shape& to = graph.type(view.results[0]).shape;
  if (to.size() <= from.size()) return false;
  const auto added = to.end() - static_cast<int64_t>(from.size());
  return std::equal(from.begin(), from.end(), added) &&
         std::all_of(to.begin(), added, [](int64_t n) { return n == 1; });
}

Shape shape_of(const Rewriter& graph, const std::vector<ValueId>& operands) {
  Shape shape;
  for (auto operand : operands) {
    auto both = broadcast_shapes(shape, graph.type(operand).shape);
    if (!both) throw InternalError("[canonicalize] operands do not broadcast without their views");
    shape = std::move(*both);
  }
  return shape;
}

// The operands before any explicit broadcast, and before leading ones where the shape of the result stays.
std::vector<ValueId> before_views(const Rewriter& graph, std::vector<ValueId> operands) {
  for (auto& operand : operands) {
    const Node* view = graph.producer(operand);
    if (view && view->op == Op::broadcast) operand = view->operands[0];
  }
  const Shape shape = shape_of(graph, operands);
  for (auto& operand : operands) {
    const Node* view = graph.producer(operand);
    if (!view || !adds_leading_ones(graph, *view)) continue;
    const ValueId viewed = operand;
    operand = view->operands[0];
    if (shape_of(graph, operands) != shape) operand = viewed;
  }
  return operands;
}

}  // namespace

Rewrite make_broadcasts_implicit(const Graph& source) {
  Rewriter to(source);
  for (const auto& node : source.nodes) {
    if (class_of(node.op) != OpClass::elementwise) {
      to.keep(node);
      continue;
    }
    const Value& result = source.values[node.results[0]];
    auto operands = before_views(to, to.of(node.operands));
    if (shape_of(to, operands) == result.type.shape) {
      to.keep(node, std::move(operands));
      continue;
    }
    // Nothing varies over the rest of the result: compute it once and repeat it.
    const ValueId once = to.add(node.op, std::move(operands), node.attributes, result.name + "_once");
    Attributes attributes;
    attributes.set("shape", result.type.shape);
    to.add_as(node.results[0], Op::broadcast, {once}, std::move(attributes));
  }
  return std::move(to).finish();
}

}  // namespace autoperfect

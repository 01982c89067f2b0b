#include <algorithm>

#include "canonicalize/passes.h"
#include "ir/shape.h"

namespace autoperfect {

namespace {

// A view that repeats its operand as an elementwise op would: a broadcast, or a reshape that adds leading
// ones.
bool is_implicit(const Rewriter& graph, const Node& view) {
  if (view.op == Op::broadcast) return true;
  if (view.op != Op::reshape) return false;
  const Shape& from = graph.type(view.operands[0]).shape;
  Shape to = graph.type(view.results[0]).shape;
  if (to.size() <= from.size()) return false;
  const auto added = to.end() - static_cast<int64_t>(from.size());
  return std::equal(from.begin(), from.end(), added) &&
         std::all_of(to.begin(), added, [](int64_t n) { return n == 1; });
}

bool gives_shape(const Rewriter& graph, const std::vector<ValueId>& operands, const Shape& wanted) {
  Shape shape;
  for (auto operand : operands) {
    auto both = broadcast_shapes(shape, graph.type(operand).shape);
    if (!both) return false;
    shape = std::move(*both);
  }
  return shape == wanted;
}

}  // namespace

Rewrite make_broadcasts_implicit(const Graph& source) {
  Rewriter to(source);
  for (const auto& node : source.nodes) {
    auto operands = to.of(node.operands);
    if (class_of(node.op) == OpClass::elementwise) {
      const Shape& wanted = source.type(node.results[0]).shape;
      for (auto& operand : operands) {
        const Node* view = to.producer(operand);
        if (!view || !is_implicit(to, *view)) continue;
        const ValueId viewed = operand;
        operand = view->operands[0];
        if (!gives_shape(to, operands, wanted)) operand = viewed;
      }
    }
    to.keep(node, std::move(operands));
  }
  return std::move(to).finish();
}

}  // namespace autoperfect

#include "ir/landings.h"

#include <algorithm>
#include <optional>

#include "ir/op.h"
#include "ir/shape.h"

namespace autoperfect {
namespace {

int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  int64_t elements = 1;
  for (; begin != end; ++begin)
    elements *= *begin;
  return elements;
}

// Where dimension d lies after a view; none where it is no longer one.
std::optional<size_t> seen_through(const Graph& graph, const Node& view, size_t d) {
  const Shape& from = graph.type(view.operands[0]).shape;
  const Shape& to = graph.type(view.results[0]).shape;
  if (view.op == Op::broadcast) return d + to.size() - from.size();
  if (view.op == Op::transpose) {
    const auto& axes = view.attributes.get<std::vector<int64_t>>("axes");
    return std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) - axes.begin();
  }
  if (view.op != Op::reshape) return std::nullopt;
  const int64_t outer = product(from.begin(), from.begin() + static_cast<int64_t>(d));
  for (size_t k = 0; k < to.size(); ++k)
    if (to[k] == from[d] && product(to.begin(), to.begin() + static_cast<int64_t>(k)) == outer) return k;
  return std::nullopt;
}

// The dimension along which an index array counts 0, 1, 2 and which is all it says.
std::optional<size_t> counted_dimension(const Graph& graph, ValueId index) {
  std::vector<const Node*> views;
  const Node* node = graph.producer(index);
  for (; node && class_of(node->op) == OpClass::view; node = graph.producer(node->operands[0]))
    views.push_back(node);
  if (!node || node->op != Op::arange) return std::nullopt;
  auto is = [&](const char* name, double number) { return node->attributes.get<double>(name) == number; };
  if (!is("start", 0) || !is("step", 1)) return std::nullopt;
  std::optional<size_t> d = 0;
  for (auto view = views.rbegin(); d && view != views.rend(); ++view)
    d = seen_through(graph, **view, *d);
  return d;
}

}  // namespace

Landings landings_of(const Graph& graph, const Node& node) {
  const Shape& shape = graph.type(node.operands[0]).shape;
  const Shape& indices = graph.type(node.operands[1]).shape;
  Landings found;
  if (node.op == Op::scatter_axis) {
    found.axes = {node.attributes.get<int64_t>("axis")};
    found.at = {indices[static_cast<size_t>(found.axes[0])]};
  } else {
    found.axes = node.attributes.get<std::vector<int64_t>>("axes");
    if (!found.axes.empty()) found.at = indices;
  }
  found.counted.assign(found.at.size(), -1);
  const Shape& updates = graph.type(node.operands.back()).shape;
  for (size_t k = 0; k < found.axes.size(); ++k) {
    const int64_t size = shape[static_cast<size_t>(found.axes[k])];
    const bool along = node.op == Op::scatter_axis;
    if (!along && updates[found.at.size() + static_cast<size_t>(found.axes[k])] == size) {
      found.axes[k] = -1;
      continue;
    }
    if (size == 1) continue;
    auto d = along ? std::nullopt : counted_dimension(graph, node.operands[k + 1]);
    if (d && found.counted[*d] < 0 && found.at[*d] == size) {
      found.counted[*d] = static_cast<int>(found.axes[k]);
    } else {
      found.compared.push_back(k);
    }
  }
  for (size_t d = 0; d < found.at.size(); ++d)
    if (found.counted[d] < 0) found.updates *= found.at[d];
  return found;
}

}  // namespace autoperfect

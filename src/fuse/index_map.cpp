#include "fuse/index_map.h"

#include "support/result.h"

namespace autoperfect {
namespace {

std::optional<IndexMap> through_slice(const Graph& graph, const Node& view, const IndexMap& index) {
  auto& start = view.attributes.get<std::vector<int64_t>>("start");
  auto& strides = view.attributes.get<std::vector<int64_t>>("strides");
  auto& from = graph.type(view.operands[0]).shape;
  auto& to = graph.type(view.results[0]).shape;
  IndexMap operand = index;
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d].gathered >= 0) {
      if (from[d] != to[d] || strides[d] != 1) return std::nullopt;
      continue;
    }
    operand[d].affine = {};
    if (from[d] == 1) continue;
    operand[d].affine.offset = start[d];
    add_scaled(operand[d].affine, index[d].affine, strides[d]);
  }
  return operand;
}

IndexMap through_transpose(const Node& view, const IndexMap& index) {
  auto& axes = view.attributes.get<std::vector<int64_t>>("axes");
  IndexMap operand(index.size());
  for (size_t d = 0; d < index.size(); ++d)
    operand[axes[d]] = index[d];
  return operand;
}

// Dimensions f.. of `from` and t.. of `to` with the same product: the index of the ones as digits of the
// row-major number that the others are.
bool regroup(
    const Shape& from,
    std::pair<size_t, size_t> f,
    const Shape& to,
    std::pair<size_t, size_t> t,
    const IndexMap& index,
    IndexMap& operand,
    AxisSpace& space) {
  std::vector<size_t> wide, narrow;  // dimensions that are more than 1
  for (size_t d = f.first; d < f.second; ++d)
    if (from[d] != 1) wide.push_back(d);
  for (size_t d = t.first; d < t.second; ++d)
    if (to[d] != 1) narrow.push_back(d);
  if (wide.size() == 1 && narrow.size() == 1) {
    operand[wide[0]] = index[narrow[0]];
    return true;
  }
  Affine number;
  int64_t stride = 1;
  for (size_t k = narrow.size(); k-- > 0;) {
    if (index[narrow[k]].gathered >= 0) return false;
    add_scaled(number, index[narrow[k]].affine, stride);
    stride *= to[narrow[k]];
  }
  for (size_t k = wide.size(); k-- > 1;) {
    Affine quotient, remainder;
    if (!space.split(number, from[wide[k]], quotient, remainder)) return false;
    operand[wide[k]].affine = remainder;
    number = quotient;
  }
  if (!wide.empty()) operand[wide[0]].affine = number;
  return true;
}

std::optional<IndexMap> through_reshape(
    const Shape& from, const Shape& to, const IndexMap& index, AxisSpace& space) {
  IndexMap operand(from.size());
  size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    size_t f0 = f, t0 = t;
    int64_t left = f < from.size() ? from[f++] : 1, right = t < to.size() ? to[t++] : 1;
    while (left != right)
      left < right ? left *= from[f++] : right *= to[t++];
    if (!regroup(from, {f0, f}, to, {t0, t}, index, operand, space)) return std::nullopt;
  }
  return operand;
}

}  // namespace

IndexMap through_broadcast(const Shape& shape, const IndexMap& index) {
  IndexMap operand(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) operand[d] = index[index.size() - shape.size() + d];
  return operand;
}

std::optional<IndexMap> pull_back(
    const Graph& graph, const Node& view, const IndexMap& index, AxisSpace& space) {
  const Shape& from = graph.type(view.operands[0]).shape;
  switch (view.op) {
    case Op::slice:
      return through_slice(graph, view, index);
    case Op::transpose:
      return through_transpose(view, index);
    case Op::broadcast:
      return through_broadcast(from, index);
    case Op::reshape:
      return through_reshape(from, graph.type(view.results[0]).shape, index, space);
    default:
      throw InternalError("pull_back: not a view: " + std::string(name(view.op)));
  }
}

}  // namespace autoperfect

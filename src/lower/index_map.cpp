#include "lower/index_map.h"

namespace autoperfect {
namespace {

std::vector<Affine> through_slice(const Node& view, const std::vector<Affine>& index) {
  auto& start = view.attributes.get<std::vector<int64_t>>("start");
  auto& strides = view.attributes.get<std::vector<int64_t>>("strides");
  std::vector<Affine> operand = index;
  for (size_t d = 0; d < index.size(); ++d) {
    operand[d].offset = start[d] + strides[d] * index[d].offset;
    for (auto& [axis, coefficient] : operand[d].terms)
      coefficient *= strides[d];
  }
  return operand;
}

std::vector<Affine> through_transpose(const Node& view, const std::vector<Affine>& index) {
  auto& axes = view.attributes.get<std::vector<int64_t>>("axes");
  std::vector<Affine> operand(index.size());
  for (size_t d = 0; d < index.size(); ++d)
    operand[axes[d]] = index[d];
  return operand;
}

std::vector<Affine> through_broadcast(const Shape& shape, const std::vector<Affine>& index) {
  std::vector<Affine> operand(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) operand[d] = index[index.size() - shape.size() + d];
  return operand;
}

// Only dimensions of size 1 come or go.
std::vector<Affine> through_reshape(const Shape& from, const Shape& to, const std::vector<Affine>& index) {
  std::vector<Affine> operand(from.size());
  size_t t = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == 1) continue;
    while (to[t] == 1)
      ++t;
    operand[d] = index[t++];
  }
  return operand;
}

}  // namespace

std::vector<Affine> pull_back(const Graph& graph, const Node& view, const std::vector<Affine>& index) {
  const Shape& from = graph.type(view.operands[0]).shape;
  switch (view.op) {
    case Op::slice:
      return through_slice(view, index);
    case Op::transpose:
      return through_transpose(view, index);
    case Op::broadcast:
      return through_broadcast(from, index);
    case Op::reshape:
      return through_reshape(from, graph.type(view.results[0]).shape, index);
    default:
      throw InternalError("pull_back: not a view: " + std::string(name(view.op)));
  }
}

double constant_value(const Node& constant) {
  const AttributeValue* value = constant.attributes.find("value");
  if (auto* number = value ? std::get_if<double>(value) : nullptr) return *number;
  if (auto* integer = value ? std::get_if<int64_t>(value) : nullptr) return static_cast<double>(*integer);
  if (auto* flag = value ? std::get_if<bool>(value) : nullptr) return *flag ? 1 : 0;
  throw InternalError("constant_value: not a rank-0 constant");
}

}  // namespace autoperfect

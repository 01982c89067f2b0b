#include "cost/bytes.h"

#include <algorithm>
#include <cmath>

namespace autoperfect {
namespace {

constexpr double line = 64;

double elements_of(const TensorType& type) {
  double product = 1;
  for (auto size : type.shape)
    product *= static_cast<double>(size);
  return product;
}

// Of `made` bytes that come in runs of `run` bytes from anywhere.
double lines_of(double made, double run) {
  return run <= 0 ? 0 : made / run * std::ceil(run / line) * line;
}

}  // namespace

double bytes_of(const TensorType& type) {
  return elements_of(type) * size_of(type.dtype);
}

double touched_bytes(const Graph& graph, const Node& node, ValueId operand) {
  const TensorType& type = graph.type(operand);
  double all = bytes_of(type);
  if (node.operands.empty() || operand != node.operands[0] || node.results.empty()) return all;
  double made = bytes_of(graph.type(node.results[0]));
  double item = size_of(type.dtype);
  auto ints = [&](const char* name) -> const std::vector<int64_t>& {
    return node.attributes.get<std::vector<int64_t>>(name);
  };
  switch (node.op) {
    case Op::slice: {
      double step = ints("strides").empty() ? 1 : std::abs(static_cast<double>(ints("strides").back()));
      return std::min(all, made * std::min(step, line / item));
    }
    case Op::gather: {
      const auto& sizes = ints("sizes");
      double run = sizes.empty() ? item : item * static_cast<double>(sizes.back());
      return std::min(all, lines_of(made, run));
    }
    case Op::gather_axis:
      return std::min(all, lines_of(made, item));
    case Op::dynamic_slice:
      return std::min(all, made);
    default:
      return all;
  }
}

double contraction_flops(const Graph& graph, const Node& node) {
  if (class_of(node.op) != OpClass::gemm || node.operands.empty()) return 0;
  double made = 0;
  for (ValueId v : node.results)
    made += elements_of(graph.type(v));
  const TensorType& left = graph.type(node.operands[0]);
  double inner = left.rank() ? static_cast<double>(left.shape.back()) : 1;
  if (node.op == Op::hadamard) return made * std::log2(std::max(2.0, inner));
  if (node.op == Op::conv) {
    const TensorType& weights = graph.type(node.operands[1]);
    return 2 * elements_of(weights) / static_cast<double>(std::max<int64_t>(1, weights.shape[0])) * made;
  }
  return 2 * made * inner;
}

}  // namespace autoperfect

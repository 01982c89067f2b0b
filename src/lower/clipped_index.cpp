#include "lower/clipped_index.h"

#include <cmath>

#include "ir/dtype.h"

namespace autoperfect {

ValueId clipped_index(Graph& graph, ValueId index, int64_t size, const std::string& name) {
  const Dtype dtype = graph.type(index).dtype;
  const double bits = 8.0 * static_cast<double>(size_of(dtype));
  const bool is_signed = is_signed_integer(dtype);
  const double most = std::exp2(is_signed ? bits - 1 : bits) - 1;
  auto bound = [&](Op op, int64_t number) {
    index = graph.add(op, {index, graph.add_constant(static_cast<double>(number), dtype, "c")}, {}, name);
  };
  if (static_cast<double>(size - 1) < most) bound(Op::minimum, size - 1);
  if (is_signed && static_cast<double>(size) <= most) bound(Op::maximum, -size);
  return index;
}

Graph with_clipped_indices(const Graph& source) {
  Graph graph;
  std::vector<ValueId> now(source.values.size(), -1);
  for (const auto& input : source.inputs)
    now[input.value] =
        graph.add_input(source.values[input.value].name, source.type(input.value), input.captured_hash);
  for (const auto& node : source.nodes) {
    std::vector<ValueId> operands;
    for (auto operand : node.operands)
      operands.push_back(now[operand]);
    const std::string& name = source.values[node.results[0]].name;
    if (node.op == Op::gather_axis || node.op == Op::gather) {
      const auto& shape = source.type(node.operands[0]).shape;
      const auto axes = node.op == Op::gather ? node.attributes.get<Shape>("axes")
                                              : Shape{node.attributes.get<int64_t>("axis")};
      for (size_t k = 0; k < axes.size(); ++k)
        operands[k + 1] =
            clipped_index(graph, operands[k + 1], shape[static_cast<size_t>(axes[k])], name + "_clipped");
    }
    std::vector<TensorType> types;
    for (auto result : node.results)
      types.push_back(source.type(result));
    auto& added =
        graph.nodes[graph.add_node(node.op, std::move(operands), std::move(types), node.attributes, name)];
    added.where = node.where;
    for (size_t r = 0; r < node.results.size(); ++r)
      now[node.results[r]] = added.results[r];
  }
  for (auto output : source.outputs)
    graph.outputs.push_back(now[output]);
  return graph;
}

}  // namespace autoperfect

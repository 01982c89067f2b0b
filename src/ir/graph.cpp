#include "ir/graph.h"

namespace autoperfect {

namespace {

AttributeValue constant_value(double value, Dtype dtype) {
  if (dtype == Dtype::bool_) return value != 0;
  if (is_integer(dtype)) return static_cast<int64_t>(value);
  if (dtype == Dtype::c64) return std::vector<double>{value, 0.0};
  return value;
}

}  // namespace

int64_t TensorType::elements() const {
  int64_t product = 1;
  for (auto size : shape)
    product *= size;
  return product;
}

ValueId Graph::add_input(const std::string& name, TensorType type, const std::string& captured_hash) {
  auto id = static_cast<ValueId>(values.size());
  Value value;
  value.name = names.unique(values, name);
  value.type = std::move(type);
  values.push_back(std::move(value));
  inputs.push_back({id, captured_hash});
  return id;
}

NodeId Graph::add_node(
    Op op,
    std::vector<ValueId> operands,
    std::vector<TensorType> types,
    Attributes attributes,
    const std::string& name) {
  auto id = static_cast<NodeId>(nodes.size());
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attributes = std::move(attributes);
  for (size_t i = 0; i < types.size(); ++i) {
    Value value;
    value.name = names.unique(values, name);
    value.type = std::move(types[i]);
    value.producer = id;
    value.result = static_cast<int>(i);
    node.results.push_back(static_cast<ValueId>(values.size()));
    values.push_back(std::move(value));
  }
  nodes.push_back(std::move(node));
  return id;
}

ValueId Graph::add(Op op, std::vector<ValueId> operands, Attributes attributes, const std::string& name) {
  std::vector<TensorType> operand_types;
  for (auto operand : operands)
    operand_types.push_back(values.at(operand).type);
  auto types = infer_types(op, operand_types, attributes);
  if (!types) {
    throw InternalError("[ir] ill-typed node: " + format(types.errors()));
  }
  auto node = add_node(op, std::move(operands), std::move(types).value(), std::move(attributes), name);
  return nodes[node].results[0];
}

ValueId Graph::add_constant(double value, Dtype dtype, const std::string& name) {
  Attributes attributes;
  attributes.set("value", constant_value(value, dtype));
  attributes.set("dtype", dtype);
  attributes.set("shape", Shape{});
  return add(Op::constant, {}, std::move(attributes), name);
}

Uses find_uses(const Graph& graph) {
  Uses uses;
  uses.readers.resize(graph.values.size());
  uses.is_output.resize(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (auto operand : graph.nodes[n].operands) {
      auto& readers = uses.readers[operand];
      if (readers.empty() || readers.back() != static_cast<NodeId>(n))
        readers.push_back(static_cast<NodeId>(n));
    }
  }
  for (auto output : graph.outputs)
    uses.is_output[output] = true;
  return uses;
}

}  // namespace autoperfect

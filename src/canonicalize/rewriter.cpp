#include "canonicalize/rewriter.h"

#include <cctype>

namespace autoperfect {

Rewriter::Rewriter(const Graph& source) : source_(source), value_of_(source.values.size(), -1) {
  graph_.name = source.name;
  for (const auto& value : source.values)
    names_.insert(value.name);
  for (const auto& input : source.inputs) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(source.values[input.value]);
    graph_.inputs.push_back({id, input.captured_hash});
    value_of_[input.value] = id;
  }
}

std::vector<ValueId> Rewriter::of(const std::vector<ValueId>& source) const {
  std::vector<ValueId> mapped;
  for (auto v : source)
    mapped.push_back(of(v));
  return mapped;
}

void Rewriter::keep(const Node& node, std::vector<ValueId> operands) {
  const auto id = static_cast<NodeId>(graph_.nodes.size());
  Node kept{node.op, std::move(operands), {}, node.attributes, node.where};
  for (auto result : node.results) {
    Value value = source_.values[result];
    value.producer = id;
    value_of_[result] = static_cast<ValueId>(graph_.values.size());
    kept.results.push_back(value_of_[result]);
    graph_.values.push_back(std::move(value));
  }
  graph_.nodes.push_back(std::move(kept));
}

std::string Rewriter::fresh_name(const std::string& wanted) {
  const bool is_number = !wanted.empty() && std::isdigit(static_cast<unsigned char>(wanted[0]));
  const std::string base = wanted.empty() || is_number ? "t" + wanted : wanted;
  std::string name = base;
  for (int suffix = 1; !names_.insert(name).second; ++suffix)
    name = base + "_" + std::to_string(suffix);
  return name;
}

ValueId Rewriter::append(Node node, TensorType type, std::string name, int result) {
  const auto id = static_cast<ValueId>(graph_.values.size());
  const auto producer = static_cast<NodeId>(graph_.nodes.size());
  graph_.values.push_back({std::move(name), std::move(type), producer, result, node.where});
  node.results = {id};
  graph_.nodes.push_back(std::move(node));
  return id;
}

namespace {

TensorType inferred(
    const Graph& graph, Op op, const std::vector<ValueId>& operands, const Attributes& attributes) {
  std::vector<TensorType> types;
  for (auto v : operands)
    types.push_back(graph.type(v));
  auto result = infer_types(op, types, attributes);
  if (!result) throw InternalError("[canonicalize] " + format(result.errors()));
  return (*result)[0];
}

}  // namespace

ValueId Rewriter::add(Op op, std::vector<ValueId> operands, Attributes attributes, const std::string& name) {
  TensorType type = inferred(graph_, op, operands, attributes);
  return append(
      {op, std::move(operands), {}, std::move(attributes), {}}, std::move(type), fresh_name(name), 0);
}

ValueId Rewriter::add_as(ValueId result_of, Op op, std::vector<ValueId> operands, Attributes attributes) {
  const Value& value = source_.values[result_of];
  TensorType type = inferred(graph_, op, operands, attributes);
  if (!(type == value.type))
    throw InternalError("[canonicalize] a rewrite changed the type of %" + value.name);
  Node node{op, std::move(operands), {}, std::move(attributes), value.where};
  return value_of_[result_of] = append(std::move(node), std::move(type), value.name, 0);
}

ValueId Rewriter::add_constant(double value, Dtype dtype, const std::string& name) {
  Attributes attributes;
  attributes.set("dtype", dtype);
  attributes.set("shape", Shape{});
  if (is_floating(dtype)) {
    attributes.set("value", value);
  } else if (dtype == Dtype::bool_) {
    attributes.set("value", value != 0);
  } else {
    attributes.set("value", static_cast<int64_t>(value));
  }
  return add(Op::constant, {}, std::move(attributes), name);
}

Rewrite Rewriter::finish() && {
  for (auto output : source_.outputs)
    graph_.outputs.push_back(of(output));
  return {std::move(graph_), std::move(value_of_)};
}

}  // namespace autoperfect

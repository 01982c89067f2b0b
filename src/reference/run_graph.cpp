#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/composites.h"
#include "reference/contractions.h"
#include "reference/elementwise.h"
#include "reference/indexing.h"
#include "reference/quantized.h"
#include "reference/reduce.h"
#include "reference/reference.h"
#include "reference/scan.h"
#include "reference/views.h"

namespace autoperfect {

namespace {

// A constant is data, so it has its dtype's precision in both modes.
Scalar constant_element(const AttributeValue& value, Dtype dtype, size_t i) {
  const bool floating = is_floating(dtype);
  auto real = [&](double x) {
    return floating ? Scalar{round_to(dtype, x), 0} : convert(Dtype::f64, dtype, {x, 0});
  };
  auto integer = [&](int64_t x) { return convert(Dtype::i64, dtype, {0, x}); };
  auto* list_of_reals = std::get_if<std::vector<double>>(&value);
  if (dtype == Dtype::c64 && list_of_reals)
    return {
        round_to(Dtype::f32, (*list_of_reals)[2 * i]), 0, round_to(Dtype::f32, (*list_of_reals)[2 * i + 1])};
  if (auto* list = list_of_reals) return real((*list)[i]);
  if (auto* list = std::get_if<std::vector<int64_t>>(&value)) return integer((*list)[i]);
  if (auto* one = std::get_if<double>(&value)) return real(*one);
  if (auto* one = std::get_if<int64_t>(&value)) return integer(*one);
  return integer(std::get<bool>(value));
}

Array constant(const Node& node, const TensorType& type) {
  Array out(type);
  for (int64_t i = 0; i < type.elements(); ++i) {
    out.set(i, constant_element(*node.attributes.find("value"), type.dtype, static_cast<size_t>(i)));
  }
  return out;
}

// MLX adds the step again and again, in the dtype: for halves this is not start + i * step.
Array arange(const Node& node, const TensorType& type, Precision precision) {
  const Dtype dtype = type.dtype;
  const double start = node.attributes.get<double>("start"), step = node.attributes.get<double>("step");
  const bool rounds = precision == Precision::exact;
  const ScalarOp add{Op::add, dtype, dtype, rounds, false}, sub{Op::sub, dtype, dtype, rounds, false};
  Scalar ends[] = {
      convert(Dtype::f64, dtype, {start + step, 0}, rounds), convert(Dtype::f64, dtype, {start, 0}, rounds)};
  Scalar next[] = {ends[1], apply(sub, ends)};
  Array out(type);
  for (int64_t i = 0; i < type.elements(); ++i, next[0] = apply(add, next))
    out.set(i, next[0]);
  return out;
}

// The product of sizes, or one over it.
Array number_of_elements(const Node& node, const Shape& shape, const TensorType& type) {
  double count = 1;
  for (auto axis : node.attributes.get<std::vector<int64_t>>("axes"))
    count *= static_cast<double>(shape[axis]);
  const bool inverted = node.attributes.get_or("inverted", false);
  Array out(type);
  out.set(0, convert(Dtype::f64, type.dtype, {inverted ? 1 / count : count}));
  return out;
}

class GraphRun {
 public:
  GraphRun(const Graph& graph, Precision precision)
      : graph_(graph), precision_(precision), arrays_(graph.values.size()) {}

  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) {
    if (auto status = check(inputs); !status) return status.errors();
    for (size_t i = 0; i < inputs.size(); ++i)
      arrays_[graph_.inputs[i].value] = array_of(inputs[i]);
    for (const auto& node : graph_.nodes) {
      auto results = evaluate_all(node);
      if (!results) return results.errors();
      for (size_t i = 0; i < results->size(); ++i)
        arrays_[node.results[i]] = std::move((*results)[i]);
    }
    std::vector<Tensor> outputs;
    for (auto output : graph_.outputs)
      outputs.push_back(tensor_of(*arrays_[output], precision_));
    return outputs;
  }

 private:
  Status check(const std::vector<Tensor>& inputs) const {
    if (inputs.size() != graph_.inputs.size()) return problem("input-count", "another number of inputs", {});
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto& value = graph_.values[graph_.inputs[i].value];
      if (!(inputs[i].type == value.type))
        return problem("input-type", "%" + value.name + " has another type", {});
    }
    for (const auto& node : graph_.nodes) {
      if (needs_its_primitive(node.op)) {
        auto message = fmt::format("'{}' has no reference: it {}", name(node.op), barrier_reason(node.op));
        return problem("opaque-node", message, node.where);
      }
      if (!has_reference_for_its_dtype(node))
        return problem(
            "unsupported-dtype", fmt::format("no reference for '{}' of c64", name(node.op)), node.where);
    }
    return Success{};
  }

  bool has_reference_for_its_dtype(const Node& node) const {
    const bool is_complex = std::any_of(node.operands.begin(), node.operands.end(), [this](ValueId v) {
      return graph_.type(v).dtype == Dtype::c64;
    });
    if (!is_complex) return true;
    if (class_of(node.op) == OpClass::composite)
      return node.op == Op::split || node.op == Op::custom_transforms || node.op == Op::number_of_elements;
    return class_of(node.op) != OpClass::elementwise || has_complex_meaning(node.op);
  }

  static Diagnostic problem(const char* code, std::string message, Where where) {
    return {"reference", code, std::move(message), where};
  }

  const Array& operand(const Node& node, size_t i) const { return *arrays_[node.operands[i]]; }

  Result<std::vector<Array>> evaluate_all(const Node& node) {
    switch (node.op) {
      case Op::split:
        return split(node);
      case Op::divmod:
        return divmod(node);
      case Op::custom_transforms:
        return some_operands(
            node, node.operands.size() - static_cast<size_t>(node.attributes.get<int64_t>("outputs")));
      case Op::depends:
        return some_operands(node, 0);
      case Op::quantize:
        if (is_affine(node)) return quantized(node);
        break;
      default:
        break;
    }
    if (node.results.size() != 1) return unsupported(node);
    auto array = evaluate(node);
    if (!array) return array.errors();
    return std::vector<Array>{std::move(array).value()};
  }

  // The results are operands as they are, from `first` on.
  std::vector<Array> some_operands(const Node& node, size_t first) const {
    std::vector<Array> results;
    for (size_t i = 0; i < node.results.size(); ++i)
      results.push_back(operand(node, first + i));
    return results;
  }

  std::vector<Array> quantized(const Node& node) const {
    std::vector<TensorType> types;
    for (auto result : node.results)
      types.push_back(graph_.type(result));
    return quantize(node, operand(node, 0), types, precision_);
  }

  std::vector<Array> split(const Node& node) const {
    std::vector<Array> parts;
    const int64_t axis = node.attributes.get<int64_t>("axis");
    int64_t begin = 0;
    for (auto result : node.results) {
      const TensorType& type = graph_.type(result);
      parts.push_back(part_of(operand(node, 0), axis, begin, type));
      begin += type.shape[axis];
    }
    return parts;
  }

  std::vector<Array> divmod(const Node& node) const {
    Node part = node;
    std::vector<Array> results;
    for (Op op : {Op::floor_divide, Op::remainder}) {
      part.op = op;
      results.push_back(evaluate_elementwise(part, graph_.type(node.results[results.size()])));
    }
    return results;
  }

  static Diagnostic unsupported(const Node& node) {
    return problem("unsupported-op", "no reference for '" + std::string(name(node.op)) + "'", node.where);
  }

  Result<Array> evaluate(const Node& node) {
    const TensorType& type = graph_.type(node.results[0]);
    switch (class_of(node.op)) {
      case OpClass::elementwise:
        return evaluate_elementwise(node, type);
      case OpClass::reduction:
        return reduce(node, operand(node, 0), type, Dtype::f32, precision_);
      case OpClass::composite:
        return evaluate_composite(node, type);
      case OpClass::view:
        return run_view(node, operand(node, 0), type);
      case OpClass::scan:
        return scan(
            scan_op(node.op, node.attributes, precision_),
            operand(node, 0),
            node.attributes.get<int64_t>("axis"),
            type.dtype);
      case OpClass::source:
        return evaluate_source(node, type);
      default:
        break;
    }
    const auto operands = operands_of(node);
    if (auto found = run_indexing(node, operands, type, precision_)) return *found;
    if (auto found = run_contraction(node, operands, type, precision_)) return *found;
    return unsupported(node);
  }

  std::vector<const Array*> operands_of(const Node& node) const {
    std::vector<const Array*> operands;
    for (size_t i = 0; i < node.operands.size(); ++i)
      operands.push_back(&operand(node, i));
    return operands;
  }

  Array evaluate_source(const Node& node, const TensorType& type) const {
    if (node.op == Op::constant) return constant(node, type);
    return node.op == Op::full ? run_view(node, operand(node, 0), type) : arange(node, type, precision_);
  }

  Result<Array> evaluate_composite(const Node& node, const TensorType& type) const {
    switch (node.op) {
      case Op::number_of_elements:
        return number_of_elements(node, operand(node, 0).type.shape, type);
      case Op::dequantize:
        if (!is_affine(node)) return unsupported(node);
        return dequantize(node, operand(node, 0), operand(node, 1), operand(node, 2), precision_);
      case Op::to_fp8:
        return to_fp8(operand(node, 0));
      case Op::from_fp8:
        return from_fp8(operand(node, 0), type.dtype);
      default:
        if (!is_known_composite(node.op)) return unsupported(node);
        return run_composite(node, operand(node, 0), type, precision_);
    }
  }

  Array evaluate_elementwise(const Node& node, const TensorType& type) const {
    const ScalarOp op{
        node.op,
        operand(node, node.op == Op::select ? 1 : 0).type.dtype,
        type.dtype,
        precision_ == Precision::exact,
        node.attributes.get_or("nan_equal", false)};
    std::vector<ElementSource> sources;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      ElementSource source;
      source.array = &operand(node, i);
      source.walk = broadcast_walk(source.array->type.shape, type.shape);
      sources.push_back(std::move(source));
    }
    Array out(type);
    elementwise(op, sources, out);
    return out;
  }

  const Graph& graph_;
  Precision precision_;
  std::vector<std::optional<Array>> arrays_;
};

}  // namespace

Result<std::vector<Tensor>> run_reference(
    const Graph& graph, const std::vector<Tensor>& inputs, Precision precision) {
  return GraphRun(graph, precision).run(inputs);
}

}  // namespace autoperfect

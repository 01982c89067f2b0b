#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "reference/composites.h"
#include "reference/elementwise.h"
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
  if (auto* list = std::get_if<std::vector<double>>(&value)) return real((*list)[i]);
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

// Products are not rounded, as in KernelIR: whether MLX rounds them depends on the instructions it finds.
Array matmul(const Array& a, const Array& b, const TensorType& type, Precision precision) {
  const bool rounds = precision == Precision::exact;
  const Dtype wide = type.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  Shape space_a = type.shape, space_b = type.shape;  // batch, then (row, depth) and (depth, column)
  const int64_t depth = a.type.shape.back();
  space_a.back() = depth;
  space_b[space_b.size() - 2] = depth;
  const Walk walk_a = broadcast_walk(a.type.shape, space_a), walk_b = broadcast_walk(b.type.shape, space_b);
  const size_t row = type.shape.size() - 2, column = row + 1;
  Array out(type);
  int64_t element = 0;
  for_each_position(type.shape, [&](const std::vector<int64_t>& position) {
    auto at_a = position, at_b = position;
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      at_a[column] = at_b[row] = k;
      sum += a.reals[walk_a.at(at_a)] * b.reals[walk_b.at(at_b)];
      if (rounds) sum = round_to(wide, sum);
    }
    out.reals[element++] = rounds ? round_to(type.dtype, sum) : sum;
  });
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
    for (const auto& value : graph_.values) {
      if (value.type.dtype == Dtype::c64)
        return problem("unsupported-dtype", "%" + value.name + " is c64", value.where);
    }
    for (const auto& node : graph_.nodes) {
      if (needs_its_primitive(node.op)) {
        auto message = fmt::format("'{}' has no reference: it {}", name(node.op), barrier_reason(node.op));
        return problem("opaque-node", message, node.where);
      }
    }
    return Success{};
  }

  static Diagnostic problem(const char* code, std::string message, Where where) {
    return {"reference", code, std::move(message), where};
  }

  const Array& operand(const Node& node, size_t i) const { return *arrays_[node.operands[i]]; }

  Result<std::vector<Array>> evaluate_all(const Node& node) {
    if (node.op == Op::split) return split(node);
    if (node.op == Op::divmod) return divmod(node);
    if (node.results.size() != 1) return unsupported(node);
    auto array = evaluate(node);
    if (!array) return array.errors();
    return std::vector<Array>{std::move(array).value()};
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
        if (!is_known_composite(node.op)) return unsupported(node);
        return run_composite(node, operand(node, 0), type, precision_);
      case OpClass::view:
        return run_view(node, operand(node, 0), type);
      case OpClass::scan:
        return scan(
            scan_op(node.op, node.attributes, precision_),
            operand(node, 0),
            node.attributes.get<int64_t>("axis"),
            type.dtype);
      default:
        break;
    }
    switch (node.op) {
      case Op::constant:
        return constant(node, type);
      case Op::full:
        return run_view(node, operand(node, 0), type);
      case Op::arange:
        return arange(node, type, precision_);
      case Op::matmul:
        return matmul(operand(node, 0), operand(node, 1), type, precision_);
      case Op::concatenate:
        return evaluate_concatenate(node, type);
      case Op::gather_axis:
        return gather_axis(operand(node, 0), operand(node, 1), node.attributes.get<int64_t>("axis"));
      default:
        return unsupported(node);
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

  Array evaluate_concatenate(const Node& node, const TensorType& type) const {
    std::vector<const Array*> parts;
    for (size_t i = 0; i < node.operands.size(); ++i)
      parts.push_back(&operand(node, i));
    return concatenate(parts, node.attributes.get<int64_t>("axis"), type);
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

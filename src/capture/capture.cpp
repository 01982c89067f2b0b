#include "capture/capture.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "capture/captured_data.h"
#include "capture/trace.h"
#include "mlx/export.h"
#include "mlx/transforms.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;

TensorType type_of(const mx::array& a) {
  return {from_mlx(a.dtype()), Shape(a.shape().begin(), a.shape().end())};
}

// TracedProgram -> Captured. Values and nodes are appended directly: names are unique by construction, and
// looking that up for each would be quadratic in the size of the program.
class Builder {
 public:
  explicit Builder(TracedProgram trace) : trace_(std::move(trace)), ids_(trace_.values.size(), -1) {}

  Captured build(size_t arguments, const SourceLines* lines) {
    captured_.uses_tracers = trace_.uses_tracers;
    // Evaluating what belongs to another transformation would be wrong, and nobody is going to run this
    // program.
    if (captured_.uses_tracers) return std::move(captured_);
    mx::eval(trace_.leaves);
    for (auto& leaf : trace_.leaves)
      leaf.wait();
    for (size_t i = 0; i < arguments; ++i) {
      ids_[i] = graph().add_input("x" + std::to_string(i), type_of(trace_.values[i].array));
    }
    for (const auto& node : trace_.nodes)
      add_node(node);
    for (auto output : trace_.outputs)
      graph().outputs.push_back(value(output));
    if (lines) add_lines(*lines);
    return std::move(captured_);
  }

 private:
  Graph& graph() { return captured_.graph; }

  // The graph's value for a traced one; data enters the graph where it is first used.
  ValueId value(int32_t traced) {
    if (ids_[traced] >= 0) return ids_[traced];
    const auto& data = trace_.leaves[trace_.values[traced].index];
    if (auto constant = exact_constant(data)) {
      auto type = type_of(data);
      Attributes attributes;
      attributes.set("value", *constant);
      attributes.set("dtype", type.dtype);
      attributes.set("shape", type.shape);
      return ids_[traced] = append(Op::constant, {}, {type}, std::move(attributes), nullptr);
    }
    auto name = "c" + std::to_string(captured_.constants.size());
    captured_.constants.push_back(data);
    return ids_[traced] = graph().add_input(name, type_of(data), content_hash(data));
  }

  ValueId append(
      Op op,
      std::vector<ValueId> operands,
      const std::vector<TensorType>& types,
      Attributes attributes,
      std::shared_ptr<mx::Primitive> primitive) {
    auto first = static_cast<ValueId>(graph().values.size());
    Node node{op, std::move(operands), {}, std::move(attributes), {}};
    for (size_t i = 0; i < types.size(); ++i) {
      auto id = first + static_cast<ValueId>(i);
      node.results.push_back(id);
      auto producer = static_cast<NodeId>(graph().nodes.size());
      graph().values.push_back({"t" + std::to_string(id), types[i], producer, static_cast<int>(i), {}});
    }
    graph().nodes.push_back(std::move(node));
    captured_.primitives.push_back(std::move(primitive));
    return first;
  }

  void add_node(const TracedNode& node) {
    std::vector<TensorType> types;
    for (auto result : node.results)
      types.push_back(type_of(trace_.values[result].array));
    auto first = add_mapped(node, types);
    if (first < 0) first = add_barrier(node, types);
    for (size_t i = 0; i < node.results.size(); ++i)
      ids_[node.results[i]] = first + static_cast<ValueId>(i);
  }

  std::vector<ValueId> operands_of(const TracedNode& node) {
    std::vector<ValueId> operands;
    for (auto operand : node.operands)
      operands.push_back(value(operand));
    return operands;
  }

  // -1 when the op is not one of ours, or its rules do not give the types MLX gave.
  ValueId add_mapped(const TracedNode& node, const std::vector<TensorType>& types) {
    auto mapped = node.mapped;
    if (!mapped) return -1;
    auto operands = operands_of(node);
    auto primitive = node.primitive;
    if (mapped->op == Op::broadcast && operands.size() > 1) {
      operands.erase(operands.begin() + 1, operands.end());  // the others only tell the shape
      primitive = nullptr;
    }
    if (mapped->op == Op::full) adapt_full(*mapped, operands, primitive);
    if (is_boolean_mask(*mapped, operands)) mapped->attributes.set("of_bool", true);
    std::vector<TensorType> operand_types;
    for (auto operand : operands)
      operand_types.push_back(graph().type(operand));
    auto inferred = infer_types(mapped->op, operand_types, mapped->attributes);
    if (!inferred || *inferred != types) return -1;
    return append(
        mapped->op, std::move(operands), types, std::move(mapped->attributes), std::move(primitive));
  }

  // MLX's Full copies a broadcast; ours fills from the scalar itself.
  void adapt_full(
      MappedPrimitive& mapped, std::vector<ValueId>& operands, std::shared_ptr<mx::Primitive>& primitive) {
    auto* producer = graph().producer(operands[0]);
    if (graph().type(operands[0]).rank() == 0) return;
    if (producer && producer->op == Op::broadcast && graph().type(producer->operands[0]).rank() == 0) {
      operands[0] = producer->operands[0];
      primitive = nullptr;
      return;
    }
    mapped = {Op::copy, {}};
  }

  bool is_full_of(ValueId v, double number) {
    auto* full = graph().producer(v);
    if (!full || full->op != Op::full) return false;
    auto* constant = graph().producer(full->operands[0]);
    return constant && constant->op == Op::constant &&
           *constant->attributes.find("value") == AttributeValue(number);
  }

  // Where a kernel of attention only adds its mask, MLX writes where(mask, full(0), full(-inf)) for a boolean
  // one. What a program itself says in numbers is broadcast after that.
  bool is_boolean_mask(const MappedPrimitive& mapped, const std::vector<ValueId>& operands) {
    size_t results = mapped.op == Op::scaled_dot_product_attention ? 0 : 3;
    if (results == 3 && mapped.op != Op::scaled_dot_product_attention_vjp) return false;
    if (operands.size() != results + (mapped.attributes.has("sinks") ? 5 : 4)) return false;
    auto* select = graph().producer(operands[3]);
    return select && select->op == Op::select && is_full_of(select->operands[1], 0) &&
           is_full_of(select->operands[2], -std::numeric_limits<double>::infinity());
  }

  ValueId add_barrier(const TracedNode& node, const std::vector<TensorType>& types) {
    auto operands = operands_of(node);
    auto op = barrier_of(*node.primitive);
    Attributes attributes;
    if (op == Op::opaque) attributes.set("primitive", std::string(node.primitive->name()));
    attributes.set("key", static_cast<int64_t>(graph().nodes.size()));
    return append(op, std::move(operands), types, std::move(attributes), node.primitive);
  }

  void add_lines(const SourceLines& lines) {
    std::unordered_map<std::uintptr_t, int> line_of_array;
    std::unordered_map<std::string, int> known;
    for (const auto& [array, text] : lines) {
      auto [line, is_new] = known.try_emplace(text, static_cast<int>(captured_.lines.size()) + 1);
      if (is_new) captured_.lines.push_back(text);
      line_of_array.try_emplace(array.id(), line->second);
    }
    for (size_t i = 0; i < ids_.size(); ++i) {
      auto line = line_of_array.find(trace_.values[i].array.id());
      auto producer = ids_[i] < 0 ? -1 : graph().values[ids_[i]].producer;
      if (producer >= 0 && line != line_of_array.end()) graph().nodes[producer].where.line = line->second;
    }
    inherit_lines();
  }

  // From the first reader, which is on the same line where nobody held the value in between.
  void inherit_lines() {
    auto& nodes = graph().nodes;
    std::vector<bool> has_own(nodes.size());
    for (size_t n = 0; n < nodes.size(); ++n)
      has_own[n] = nodes[n].where.line > 0;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      for (auto operand : node->operands) {
        auto producer = graph().values[operand].producer;
        if (producer >= 0 && !has_own[producer]) nodes[producer].where.line = node->where.line;
      }
    }
  }

  TracedProgram trace_;
  std::vector<ValueId> ids_;
  Captured captured_;
};

mx::Shape to_mlx(const Shape& shape) {
  return mx::Shape(shape.begin(), shape.end());
}

}  // namespace

Captured capture(const ArrayFunction& fn, const std::vector<mx::array>& arguments, const SourceLines* lines) {
  return Builder(trace(fn, arguments)).build(arguments.size(), lines);
}

Captured capture_file(const std::string& mlxfn_path, const std::vector<mx::array>& arguments) {
  auto imported = mx::import_function(mlxfn_path);
  return capture([&](const std::vector<mx::array>& inputs) { return imported(inputs); }, arguments);
}

std::vector<mx::array> replay(const Captured& captured, NodeId node, const std::vector<mx::array>& inputs) {
  const auto& primitive = captured.primitives[node];
  if (!primitive) return apply(captured.graph, node, inputs);
  const auto& results = captured.graph.nodes[node].results;
  if (results.size() == 1) {
    const auto& type = captured.graph.type(results[0]);
    return {mx::array(to_mlx(type.shape), to_mlx(type.dtype), primitive, inputs)};
  }
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  for (auto result : results) {
    shapes.push_back(to_mlx(captured.graph.type(result).shape));
    dtypes.push_back(to_mlx(captured.graph.type(result).dtype));
  }
  return mx::array::make_arrays(std::move(shapes), dtypes, primitive, inputs);
}

}  // namespace autoperfect

#include "fuse/legal.h"

#include <algorithm>
#include <cmath>

#include "ir/landings.h"
#include "ir/lossless.h"

namespace autoperfect {
namespace {

bool supported(Dtype dtype) {
  return dtype != Dtype::f64 && dtype != Dtype::c64;
}

// MLX writes into an array that nobody else holds, as the cache of a decoder; a kernel would copy all of it.
bool is_large_and_given(const Graph& graph, ValueId value) {
  constexpr int64_t large = int64_t{4} << 20;
  if (graph.type(value).bytes() <= large) return false;
  const Node* node = graph.producer(value);
  while (node && (class_of(node->op) == OpClass::view || node->op == Op::scatter ||
                  node->op == Op::scatter_axis || node->op == Op::slice_update))
    node = graph.producer(node->operands[0]);
  return !node;
}

// Whether each update is all of an axis, or one element of one that is indexed.
bool updates_elements(const Graph& graph, const Node& node) {
  if (node.op == Op::scatter_axis) return true;
  const Shape& shape = graph.type(node.operands[0]).shape;
  const Shape& updates = graph.type(node.operands.back()).shape;
  const auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
  for (size_t d = 0, outer = updates.size() - shape.size(); d < shape.size(); ++d) {
    bool is_indexed = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (updates[outer + d] != shape[d] && !(is_indexed && updates[outer + d] == 1)) return false;
  }
  return true;
}

std::string why_scatter_stays(const Graph& graph, const Node& node) {
  const TensorType& type = graph.type(node.results[0]);
  if (node.attributes.has("reduce") && type.dtype == Dtype::bool_) return "reduces bools";
  if (!updates_elements(graph, node)) return "updates slices of an axis";
  if (is_large_and_given(graph, node.operands[0]))
    return "updates a large array that the program is given, which MLX may do in place";
  const int64_t updates = landings_of(graph, node).updates;
  if (updates <= most_landings) return "";
  return "has " + std::to_string(updates) + " updates for each element";
}

// An op without an index map from what it gives to what it reads.
std::string why_boundary(const Graph& graph, const Node& node) {
  switch (class_of(node.op)) {
    case OpClass::elementwise:
    case OpClass::reduction:
    case OpClass::scan:
    case OpClass::view:
      return "";
    case OpClass::barrier:
      return std::string(barrier_reason(node.op));
    default:
      break;
  }
  auto is_f32 = [&] { return graph.type(node.results[0]).dtype == Dtype::f32; };
  switch (node.op) {
    case Op::matmul:
    case Op::concatenate:
    case Op::pad:
    case Op::gather:
    case Op::gather_axis:
      return "";
    case Op::addmm:
      return is_f32() ? "" : "adds before it rounds";
    case Op::slice_update:
      return node.attributes.find("reduce") ? "reduces into what it updates" : "";
    case Op::scatter:
    case Op::scatter_axis:
      return why_scatter_stays(graph, node);
    case Op::masked_scatter:
      return "writes where its data says";
    default:
      return "is a boundary (" + std::string(name(class_of(node.op))) + ")";
  }
}

}  // namespace

bool is_inlined(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  if (!node) return false;
  if (node->op == Op::constant) {
    // Literals are doubles: larger integers keep their own buffer.
    auto* integer = std::get_if<int64_t>(node->attributes.find("value"));
    bool exact = !integer || std::abs(*integer) <= (int64_t{1} << 53);
    return graph.type(value).rank() == 0 && exact;
  }
  // MLX adds the step up one by one, in the dtype: that is start + i * step where all of it is whole, and no
  // further than the dtype counts. Of halves that is soon.
  if (node->op != Op::arange) return false;
  const double start = node->attributes.get<double>("start"), step = node->attributes.get<double>("step");
  const double last = start + step * static_cast<double>(node->attributes.get<int64_t>("size"));
  const Dtype dtype = graph.type(value).dtype;
  const bool is_counted = !is_floating(dtype) || holds(dtype, start, last);
  return start == std::floor(start) && step == std::floor(step) && is_counted;
}
std::string why_not_fusable(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (auto why = why_boundary(graph, node); !why.empty()) return std::string(name(node.op)) + " " + why;
  auto check = [&](ValueId v) -> std::string {
    const TensorType& type = graph.type(v);
    if (!supported(type.dtype)) return std::string(name(type.dtype)) + " is left to MLX";
    if (type.elements() == 0) return "empty tensor";
    return "";
  };
  for (ValueId v : node.operands)
    if (auto why = check(v); !why.empty()) return why;
  for (ValueId v : node.results)
    if (auto why = check(v); !why.empty()) return why;
  bool divides = node.op == Op::remainder || node.op == Op::floor_divide;
  if (divides && graph.type(node.results[0]).dtype == Dtype::bool_) return "division of bool is left to MLX";
  return "";
}

double constant_value(const Node& constant) {
  const AttributeValue* value = constant.attributes.find("value");
  if (auto* number = value ? std::get_if<double>(value) : nullptr) return *number;
  if (auto* integer = value ? std::get_if<int64_t>(value) : nullptr) return static_cast<double>(*integer);
  if (auto* flag = value ? std::get_if<bool>(value) : nullptr) return *flag ? 1 : 0;
  throw InternalError("constant_value: not a rank-0 constant");
}

std::vector<int64_t> reduced_dims(const Node& node) {
  if (node.op == Op::argmax || node.op == Op::argmin) return {node.attributes.get<int64_t>("axis")};
  return node.attributes.get<std::vector<int64_t>>("axes");
}

}  // namespace autoperfect

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "canonicalize/passes.h"
#include "canonicalize/structural_hash.h"
#include "ir/lossless.h"
#include "ir/scalar_semantics.h"

namespace autoperfect {

namespace {

// One scalar that every element of a value is.
struct Splat {
  Scalar scalar;
  Dtype dtype;
};

// An element as attributes spell it: a double for floats, an int64 for integers (a u64 as its bits).
Scalar scalar_of(double value, Dtype dtype) {
  return convert(Dtype::f64, dtype, {value, 0});
}
Scalar scalar_of(int64_t value, Dtype dtype) {
  return convert(Dtype::i64, dtype, {0, value});
}

bool same(Scalar a, Scalar b) {
  return a.integer == b.integer && (std::memcmp(&a.real, &b.real, sizeof a.real) == 0);
}

// The elements a constant spells out: one for all, or each.
std::vector<Scalar> elements_of(const AttributeValue& value, Dtype dtype) {
  std::vector<Scalar> elements;
  if (auto* reals = std::get_if<std::vector<double>>(&value)) {
    for (double x : *reals)
      elements.push_back(scalar_of(x, dtype));
  } else if (auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    for (int64_t x : *integers)
      elements.push_back(scalar_of(x, dtype));
  } else if (auto* real = std::get_if<double>(&value)) {
    elements.push_back(scalar_of(*real, dtype));
  } else if (auto* integer = std::get_if<int64_t>(&value)) {
    elements.push_back(scalar_of(*integer, dtype));
  } else {
    elements.push_back(scalar_of(int64_t{std::get<bool>(value)}, dtype));
  }
  return elements;
}

bool all_same(const std::vector<Scalar>& elements) {
  for (const auto& element : elements) {
    if (!same(element, elements[0])) return false;
  }
  return !elements.empty();
}

Attributes scalar_attributes(const Splat& splat) {
  Attributes attributes;
  attributes.set("dtype", splat.dtype);
  attributes.set("shape", Shape{});
  if (is_floating(splat.dtype)) {
    const double value = splat.scalar.real;
    attributes.set("value", std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
  } else if (splat.dtype == Dtype::bool_) {
    attributes.set("value", splat.scalar.integer != 0);
  } else {
    attributes.set("value", splat.scalar.integer);
  }
  return attributes;
}

// The elements of a list, rounded to its dtype.
Attributes list_attributes(const std::vector<Scalar>& elements, const TensorType& type) {
  Attributes attributes;
  attributes.set("dtype", type.dtype);
  attributes.set("shape", type.shape);
  std::vector<double> reals;
  std::vector<int64_t> integers;
  for (const auto& element : elements) {
    is_floating(type.dtype) ? reals.push_back(element.real) : integers.push_back(element.integer);
  }
  if (is_floating(type.dtype) && !elements.empty()) {
    attributes.set("value", std::move(reals));
  } else {
    attributes.set("value", std::move(integers));  // an empty list of any dtype is one of integers
  }
  return attributes;
}

// A rank-0 constant or one that is broadcast, or reshaped where there is nothing to repeat.
std::optional<Splat> splat_of(const Rewriter& to, ValueId v) {
  const Node* node = to.producer(v);
  if (node && (node->op == Op::broadcast || node->op == Op::reshape)) node = to.producer(node->operands[0]);
  if (!node || node->op != Op::constant) return std::nullopt;
  const TensorType& type = to.type(node->results[0]);
  if (type.rank() != 0 || type.dtype == Dtype::c64) return std::nullopt;
  return Splat{elements_of(*node->attributes.find("value"), type.dtype)[0], type.dtype};
}

ValueId add_splat(Rewriter& to, const Splat& splat, const Shape& shape) {
  const ValueId scalar = to.add(Op::constant, {}, scalar_attributes(splat), "_scalar");
  return to.add_broadcast(scalar, shape);
}

// A number for all elements stays a number of rank 0; a list is spelled in its dtype's own precision.
std::optional<ValueId> fold_constant(Rewriter& to, const NewNode& node) {
  const auto elements = elements_of(*node.attributes.find("value"), node.type.dtype);
  const bool is_splat = all_same(elements);
  Attributes attributes =
      is_splat ? scalar_attributes({elements[0], node.type.dtype}) : list_attributes(elements, node.type);
  if (same_bits(attributes, node.attributes)) return std::nullopt;
  const ValueId constant = to.add(Op::constant, {}, std::move(attributes), "_scalar");
  return to.add_broadcast(constant, node.type.shape);
}

std::optional<ValueId> fold_elementwise(Rewriter& to, const NewNode& node) {
  std::vector<Scalar> scalars;
  Dtype dtype = Dtype::f32;
  for (auto operand : node.operands) {
    const auto splat = splat_of(to, operand);
    if (!splat) return std::nullopt;
    scalars.push_back(splat->scalar);
    dtype = splat->dtype;  // of the last, which for select is that of its values
  }
  const Dtype result = node.type.dtype;
  const ScalarOp op{node.op, dtype, result, true, node.attributes.get_or("nan_equal", false)};
  return add_splat(to, {apply(op, scalars.data()), result}, node.type.shape);
}

// A range of whole numbers that both dtypes hold is a range of the other.
std::optional<ValueId> fold_cast_of_range(Rewriter& to, const NewNode& node) {
  const Node* range = to.producer(node.operands[0], Op::arange);
  if (!range) return std::nullopt;
  const double start = range->attributes.get<double>("start"), step = range->attributes.get<double>("step");
  const double last = start + step * static_cast<double>(range->attributes.get<int64_t>("size"));
  const Dtype from = to.type(node.operands[0]).dtype, dtype = node.type.dtype;
  const bool is_whole = start == std::floor(start) && step == std::floor(step) && !std::signbit(start);
  if (!is_whole || !holds(from, start, last) || !holds(dtype, start, last)) return std::nullopt;
  Attributes attributes = range->attributes;
  attributes.set("dtype", dtype);
  return to.add(Op::arange, {}, std::move(attributes));
}

std::optional<ValueId> fold_view(Rewriter& to, const NewNode& node) {
  const ValueId operand = node.operands[0];
  const Node* list = node.op == Op::reshape ? to.producer(operand, Op::constant) : nullptr;
  if (list && to.type(operand).rank() > 0) {
    Attributes attributes = list->attributes;
    attributes.set("shape", node.type.shape);
    return to.add(Op::constant, {}, std::move(attributes));
  }
  const auto splat = splat_of(to, operand);
  const bool is_folded = to.type(operand).rank() == 0;
  if (!splat || is_folded) return std::nullopt;
  return add_splat(to, *splat, node.type.shape);
}

// A reduction of no elements is what it begins with. (MLX 0.32 never returns from some of them, of strided
// arrays.)
std::optional<ValueId> fold_reduction_of_nothing(Rewriter& to, const NewNode& node) {
  const bool begins_with_one = node.op == Op::prod || node.op == Op::all;
  const bool begins_with_zero = node.op == Op::sum || node.op == Op::any;
  if (!begins_with_one && !begins_with_zero) return std::nullopt;
  if (to.type(node.operands[0]).elements() > 0 || node.type.elements() == 0) return std::nullopt;
  const Scalar start = convert(Dtype::i64, node.type.dtype, {0, begins_with_one});
  return add_splat(to, {start, node.type.dtype}, node.type.shape);
}

}  // namespace

std::optional<ValueId> fold_constants(Rewriter& to, const NewNode& node) {
  if (node.type.dtype == Dtype::c64) return std::nullopt;
  switch (node.op) {
    case Op::constant:
      return fold_constant(to, node);
    case Op::reshape:
    case Op::transpose:
    case Op::broadcast:
    case Op::slice:
      return fold_view(to, node);
    case Op::sum:
    case Op::prod:
    case Op::any:
    case Op::all:
      return fold_reduction_of_nothing(to, node);
    case Op::cast:
      if (auto range = fold_cast_of_range(to, node)) return range;
      return fold_elementwise(to, node);
    default:
      return class_of(node.op) == OpClass::elementwise ? fold_elementwise(to, node) : std::nullopt;
  }
}

}  // namespace autoperfect

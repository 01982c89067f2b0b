#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "canonicalize/passes.h"
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

class Folder {
 public:
  explicit Folder(const Graph& source) : source_(source), to_(source) {}

  Rewrite run() && {
    for (const auto& node : source_.nodes) {
      if (!fold(node)) to_.keep(node);
    }
    return std::move(to_).finish();
  }

 private:
  bool fold(const Node& node) {
    if (node.results.size() != 1 || source_.type(node.results[0]).dtype == Dtype::c64) return false;
    switch (class_of(node.op)) {
      case OpClass::elementwise:
        return fold_elementwise(node);
      case OpClass::view:
        return fold_view(node);
      default:
        return node.op == Op::constant && fold_constant(node);
    }
  }

  // A number for all elements stays a number of rank 0; a list is spelled in its dtype's own precision.
  bool fold_constant(const Node& node) {
    const ValueId result = node.results[0];
    const TensorType& type = source_.type(result);
    const auto elements = elements_of(*node.attributes.find("value"), type.dtype);
    if (all_same(elements)) {
      write(result, {elements[0], type.dtype});
    } else {
      to_.add_as(result, Op::constant, {}, list_attributes(elements, type));
    }
    return true;
  }

  bool fold_elementwise(const Node& node) {
    std::vector<Scalar> scalars;
    Dtype dtype = Dtype::f32;
    for (auto operand : node.operands) {
      const auto splat = splat_of(to_.of(operand));
      if (!splat) return false;
      scalars.push_back(splat->scalar);
      dtype = splat->dtype;  // of the last, which for select is that of its values
    }
    const ValueId result = node.results[0];
    const Dtype to = source_.type(result).dtype;
    write(
        result,
        {apply({node.op, dtype, to, true, node.attributes.get_or("nan_equal", false)}, scalars.data()), to});
    return true;
  }

  bool fold_view(const Node& node) {
    const ValueId result = node.results[0], operand = to_.of(node.operands[0]);
    const Node* inner = to_.producer(operand);
    if (node.op == Op::reshape && inner && inner->op == Op::constant && to_.type(operand).rank() > 0) {
      Attributes attributes = inner->attributes;
      attributes.set("shape", source_.type(result).shape);
      to_.add_as(result, Op::constant, {}, std::move(attributes));
      return true;
    }
    const auto splat = splat_of(operand);
    const bool is_folded = node.op == Op::broadcast && to_.type(operand).rank() == 0;
    if (!splat || is_folded) return false;
    write(result, *splat);
    return true;
  }

  // A rank-0 constant or a broadcast of one.
  std::optional<Splat> splat_of(ValueId v) const {
    const Node* node = to_.producer(v);
    if (node && node->op == Op::broadcast) node = to_.producer(node->operands[0]);
    if (!node || node->op != Op::constant) return std::nullopt;
    const TensorType& type = to_.type(node->results[0]);
    if (type.rank() != 0 || type.dtype == Dtype::c64) return std::nullopt;
    return Splat{elements_of(*node->attributes.find("value"), type.dtype)[0], type.dtype};
  }

  void write(ValueId result, const Splat& splat) {
    const Value& value = source_.values[result];
    if (value.type.rank() == 0) {
      to_.add_as(result, Op::constant, {}, scalar_attributes(splat));
      return;
    }
    const ValueId scalar = to_.add(Op::constant, {}, scalar_attributes(splat), value.name + "_scalar");
    Attributes attributes;
    attributes.set("shape", value.type.shape);
    to_.add_as(result, Op::broadcast, {scalar}, std::move(attributes));
  }

  const Graph& source_;
  Rewriter to_;
};

}  // namespace

Rewrite fold_constants(const Graph& source) {
  return Folder(source).run();
}

}  // namespace autoperfect

// Types of results, in MLX's own rules. One small function per family of ops; the switch at the end is the
// table.
#include <fmt/format.h>

#include "ir/attribute_rules.h"
#include "ir/graph.h"
#include "ir/infer_dtype.h"
#include "ir/infer_rules.h"
#include "ir/shape.h"

namespace autoperfect {

namespace infer_rules {

Diagnostic rule_broken(const char* code, std::string message, std::string hint) {
  return {"ir", code, std::move(message), {}, std::move(hint)};
}

Result<TensorType> checked(TensorType type) {
  if (checked_elements(type.shape)) return type;
  return rule_broken(
      "shape-too-large", fmt::format("shape {} is not a possible shape", to_string(type.shape)));
}

namespace {

Result<TensorType> infer_elementwise(Op op, const Types& operands, const Attributes& attributes) {
  Shape shape;
  std::vector<Dtype> dtypes;
  for (const auto& operand : operands) {
    auto both = broadcast_shapes(shape, operand.shape);
    if (!both) {
      auto message =
          fmt::format("shapes {} and {} do not broadcast", to_string(shape), to_string(operand.shape));
      return rule_broken(
          "shape-mismatch", message, "aligned at the last axis, sizes are equal or one of them is 1");
    }
    shape = std::move(*both);
    dtypes.push_back(operand.dtype);
  }
  if (op == Op::cast) return checked({attributes.get<Dtype>("dtype"), std::move(shape)});
  auto dtype = infer_dtype(op, dtypes);
  if (!dtype) return dtype.errors();
  return checked({*dtype, std::move(shape)});
}

// Axes are sorted, unique and of the operand: then they have one spelling, and reducing is a simple loop.
std::vector<Diagnostic> check_axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<Diagnostic> found;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) {
      auto hint = rank == 0 ? std::string("a scalar has no axes") : fmt::format("axes are 0 to {}", rank - 1);
      found.push_back(rule_broken("axis-range", fmt::format("axis {} does not exist", axes[i]), hint));
    }
    if (i > 0 && axes[i] <= axes[i - 1]) {
      found.push_back(rule_broken("axes-order", fmt::format("axes {} are not ascending", to_string(axes))));
    }
  }
  return found;
}

Result<TensorType> infer_reduced_shape(TensorType type, const std::vector<int64_t>& axes, bool keepdims) {
  auto errors = check_axes(axes, type.rank());
  if (!errors.empty()) return errors;
  for (size_t i = axes.size(); i-- > 0;) {
    if (keepdims) {
      type.shape[axes[i]] = 1;
    } else {
      type.shape.erase(type.shape.begin() + axes[i]);
    }
  }
  return type;
}

bool is_argument_reduction(Op op) {
  return op == Op::argmax || op == Op::argmin;
}

Result<TensorType> infer_reduction(Op op, const TensorType& operand, const Attributes& attributes) {
  auto dtype = infer_dtype(op, {operand.dtype});
  if (!dtype) return dtype.errors();
  auto axes = is_argument_reduction(op) ? std::vector<int64_t>{attributes.get<int64_t>("axis")}
                                        : attributes.get<std::vector<int64_t>>("axes");
  auto out = infer_reduced_shape({*dtype, operand.shape}, axes, attributes.get_or("keepdims", false));
  if (!out) return out;
  // As in MLX: these have no value over nothing.
  bool needs_elements = is_argument_reduction(op) || op == Op::max || op == Op::min;
  for (auto axis : axes) {
    if (needs_elements && operand.shape[axis] == 0) {
      return rule_broken("empty-reduction", fmt::format("'{}' over an axis of size 0", name(op)));
    }
  }
  return out;
}

Result<TensorType> infer_scan(Op op, const TensorType& operand, int64_t axis) {
  auto dtype = infer_dtype(op, {operand.dtype});
  if (!dtype) return dtype.errors();
  auto errors = check_axes({axis}, operand.rank());
  if (!errors.empty()) return errors;
  return TensorType{*dtype, operand.shape};
}

Result<TensorType> infer_moment(Op op, const TensorType& operand, const Attributes& attributes) {
  auto dtype = at_least_float(operand.dtype);
  if (op != Op::mean && dtype == Dtype::c64) dtype = Dtype::f32;
  return infer_reduced_shape(
      {dtype, operand.shape},
      attributes.get<std::vector<int64_t>>("axes"),
      attributes.get_or("keepdims", false));
}

Result<TensorType> infer_last_axis(Op op, const TensorType& operand) {
  if (operand.rank() == 0)
    return rule_broken("axis-range", fmt::format("'{}' needs at least one axis", name(op)));
  TensorType out{at_least_float(operand.dtype), operand.shape};
  if (op == Op::logsumexp) out.shape.back() = 1;
  return out;
}

// A number for every element, or one number for all; complex ones are pairs (real, imaginary).
Result<TensorType> infer_constant(const Attributes& attributes) {
  auto out = checked({attributes.get<Dtype>("dtype"), attributes.get_or("shape", std::vector<int64_t>{})});
  if (!out) return out;
  const auto& value = *attributes.find("value");
  auto* integers = std::get_if<std::vector<int64_t>>(&value);
  auto* numbers = std::get_if<std::vector<double>>(&value);
  bool complex = out->dtype == Dtype::c64;
  if (integers || numbers) {
    auto count = static_cast<int64_t>(integers ? integers->size() : numbers->size());
    int64_t needed = *checked_elements(out->shape) * (complex ? 2 : 1);
    if (count != needed) {
      return rule_broken(
          "constant-size", fmt::format("{} numbers for {} of {}", count, needed, to_string(*out)));
    }
  }
  bool wants_float = is_floating(out->dtype) || complex;
  bool is_float = numbers || std::holds_alternative<double>(value);
  bool empty = integers && integers->empty();
  bool is_bool = std::holds_alternative<bool>(value);
  if (!empty && (wants_float != is_float || (is_bool && out->dtype != Dtype::bool_))) {
    return rule_broken("constant-dtype", fmt::format("this value is not a constant of {}", name(out->dtype)));
  }
  return out;
}

Result<TensorType> infer_matmul(const TensorType& a, const TensorType& b) {
  auto dtype = infer_dtype(Op::div, {a.dtype, b.dtype});  // the same rule: equal and inexact
  if (!dtype) {
    auto message = fmt::format("'matmul' does not take {} and {}", name(a.dtype), name(b.dtype));
    return rule_broken(dtype.errors()[0].code.c_str(), message, "both have the same floating dtype");
  }
  if (a.rank() < 2 || b.rank() < 2)
    return rule_broken("rank-mismatch", "'matmul' needs at least two axes of each");
  Shape batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  auto shape = broadcast_shapes(batch_a, batch_b);
  if (!shape || a.shape.back() != b.shape[b.rank() - 2]) {
    return rule_broken(
        "shape-mismatch", fmt::format("cannot multiply {} by {}", to_string(a.shape), to_string(b.shape)));
  }
  shape->push_back(a.shape[a.rank() - 2]);
  shape->push_back(b.shape.back());
  return checked({*dtype, std::move(*shape)});
}

Result<TensorType> infer_full(const TensorType& operand, const Shape& shape) {
  if (operand.rank() != 0) return rule_broken("rank-mismatch", "the operand of 'full' is a scalar");
  return checked({operand.dtype, shape});
}

Result<TensorType> infer_arange(const Attributes& attributes) {
  auto dtype = attributes.get<Dtype>("dtype");
  if (dtype == Dtype::bool_ || dtype == Dtype::c64) {
    return rule_broken("dtype-not-allowed", fmt::format("'arange' does not give {}", name(dtype)));
  }
  return checked({dtype, {attributes.get<int64_t>("size")}});
}

Result<TensorType> infer(Op op, const Types& operands, const Attributes& attributes) {
  switch (class_of(op)) {
    case OpClass::elementwise:
      return infer_elementwise(op, operands, attributes);
    case OpClass::reduction:
      return infer_reduction(op, operands[0], attributes);
    case OpClass::scan:
      return infer_scan(op, operands[0], attributes.get<int64_t>("axis"));
    default:
      break;
  }
  switch (op) {
    case Op::softmax:
    case Op::log_softmax:
    case Op::logsumexp:
      return infer_last_axis(op, operands[0]);
    case Op::mean:
    case Op::var:
    case Op::std:
      return infer_moment(op, operands[0], attributes);
    case Op::constant:
      return infer_constant(attributes);
    case Op::full:
      return infer_full(operands[0], attributes.get<Shape>("shape"));
    case Op::arange:
      return infer_arange(attributes);
    case Op::broadcast:
      return infer_broadcast(operands[0], attributes.get<Shape>("shape"));
    case Op::reshape:
      return infer_reshape(operands[0], attributes.get<Shape>("shape"));
    case Op::transpose:
      return infer_transpose(operands[0], attributes.get<Shape>("axes"));
    case Op::slice:
      return infer_slice(operands[0], attributes);
    case Op::concatenate:
      return infer_concatenate(operands, attributes.get<int64_t>("axis"));
    case Op::gather_axis:
      return infer_gather_axis(operands[0], operands[1], attributes.get<int64_t>("axis"));
    case Op::matmul:
      return infer_matmul(operands[0], operands[1]);
    default:
      return rule_broken("not-inferable", fmt::format("types of '{}' are stated, not inferred", name(op)));
  }
}

}  // namespace

}  // namespace infer_rules

Result<std::vector<TensorType>> infer_types(
    Op op, const std::vector<TensorType>& operands, const Attributes& attributes) {
  using namespace infer_rules;
  if (arity(op) >= 0 && static_cast<int>(operands.size()) != arity(op)) {
    auto message = fmt::format("'{}' takes {} operands, not {}", name(op), arity(op), operands.size());
    return rule_broken("arity", message);
  }
  auto errors = check_attributes(op, attributes);
  if (!errors.empty()) return errors;
  auto type = infer(op, operands, attributes);
  if (!type) return type.errors();
  return Types{std::move(type).value()};
}

}  // namespace autoperfect

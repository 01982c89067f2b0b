// Sources, elementwise ops, reductions and scans.
#include <fmt/format.h>

#include "ir/infer_dtype.h"
#include "ir/infer_rules.h"
#include "ir/shape.h"

namespace autoperfect::infer_rules {

namespace {

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

}  // namespace

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

namespace {

bool is_argument_reduction(Op op) {
  return op == Op::argmax || op == Op::argmin;
}

}  // namespace

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

namespace {

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

Result<TensorType> infer_full(const TensorType& operand, const Shape& shape) {
  if (operand.rank() != 0) return rule_broken("rank-mismatch", "the operand of 'full' is a scalar");
  return checked({operand.dtype, shape});
}

Result<TensorType> infer_arange(const Attributes& attributes) {
  auto dtype = attributes.get<Dtype>("dtype");
  if (dtype == Dtype::bool_) return rule_broken("dtype-not-allowed", "'arange' does not give bool");
  return checked({dtype, {attributes.get<int64_t>("size")}});
}

}  // namespace

Result<TensorType> infer_scan(Op op, const TensorType& operand, const Attributes& attributes) {
  auto dtype = infer_dtype(op, {operand.dtype});
  if (!dtype) return dtype.errors();
  if (auto status = check_distinct_axes({attributes.get<int64_t>("axis")}, operand.rank()); !status)
    return status.errors();
  return TensorType{*dtype, operand.shape};
}

Result<TensorType> infer_source(Op op, const Types& operands, const Attributes& attributes) {
  if (op == Op::full) return infer_full(operands[0], attributes.get<Shape>("shape"));
  return op == Op::arange ? infer_arange(attributes) : infer_constant(attributes);
}

}  // namespace autoperfect::infer_rules

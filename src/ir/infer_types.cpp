// Types of results, in MLX's own rules. One small function per family of ops; the switch at the end is the table.
#include <fmt/format.h>

#include <algorithm>

#include "ir/attribute_rules.h"
#include "ir/graph.h"
#include "ir/infer_dtype.h"
#include "ir/shape.h"

namespace autoperfect {

namespace {

using Types = std::vector<TensorType>;

Diagnostic error(const char* code, std::string message, std::string hint = "") {
  return {"ir", code, std::move(message), {}, std::move(hint)};
}

Result<TensorType> checked(TensorType type) {
  if (checked_elements(type.shape)) return type;
  return error("shape-too-large", fmt::format("shape {} is not a possible shape", to_string(type.shape)));
}

Result<TensorType> infer_elementwise(Op op, const Types& operands, const Attributes& attributes) {
  Shape shape;
  std::vector<Dtype> dtypes;
  for (const auto& operand : operands) {
    auto both = broadcast_shapes(shape, operand.shape);
    if (!both) {
      auto message = fmt::format("shapes {} and {} do not broadcast", to_string(shape), to_string(operand.shape));
      return error("shape-mismatch", message, "aligned at the last axis, sizes are equal or one of them is 1");
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
      found.push_back(error("axis-range", fmt::format("axis {} does not exist", axes[i]), hint));
    }
    if (i > 0 && axes[i] <= axes[i - 1]) {
      found.push_back(error("axes-order", fmt::format("axes {} are not ascending", to_string(axes))));
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

bool is_argument_reduction(Op op) { return op == Op::argmax || op == Op::argmin; }

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
      return error("empty-reduction", fmt::format("'{}' over an axis of size 0", name(op)));
    }
  }
  return out;
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
  if (operand.rank() == 0) return error("axis-range", fmt::format("'{}' needs at least one axis", name(op)));
  TensorType out{at_least_float(operand.dtype), operand.shape};
  if (op == Op::logsumexp) out.shape.back() = 1;
  return out;
}

Result<TensorType> infer_composite(Op op, const TensorType& operand, const Attributes& attributes) {
  bool moment = op == Op::mean || op == Op::var || op == Op::std;
  return moment ? infer_moment(op, operand, attributes) : infer_last_axis(op, operand);
}

// A number for every element, or one number for all; complex ones are pairs (real, imaginary).
Result<TensorType> infer_constant(const Attributes& attributes) {
  auto out = checked(
      {attributes.get<Dtype>("dtype"), attributes.get_or("shape", std::vector<int64_t>{})});
  if (!out) return out;
  const auto& value = *attributes.find("value");
  auto* integers = std::get_if<std::vector<int64_t>>(&value);
  auto* numbers = std::get_if<std::vector<double>>(&value);
  bool complex = out->dtype == Dtype::c64;
  if (integers || numbers) {
    auto count = static_cast<int64_t>(integers ? integers->size() : numbers->size());
    int64_t needed = *checked_elements(out->shape) * (complex ? 2 : 1);
    if (count != needed) {
      return error("constant-size", fmt::format("{} numbers for {} of {}", count, needed, to_string(*out)));
    }
  }
  bool wants_float = is_floating(out->dtype) || complex;
  bool is_float = numbers || std::holds_alternative<double>(value);
  bool empty = integers && integers->empty();
  bool is_bool = std::holds_alternative<bool>(value);
  if (!empty && (wants_float != is_float || (is_bool && out->dtype != Dtype::bool_))) {
    return error("constant-dtype", fmt::format("this value is not a constant of {}", name(out->dtype)));
  }
  return out;
}

Result<TensorType> infer_broadcast(const TensorType& operand, const Shape& shape) {
  if (!broadcasts_to(operand.shape, shape)) {
    auto message = fmt::format("{} does not broadcast to {}", to_string(operand.shape), to_string(shape));
    return error("shape-mismatch", message);
  }
  return checked({operand.dtype, shape});
}

Result<TensorType> infer_reshape(const TensorType& operand, const Shape& shape) {
  auto out = checked({operand.dtype, shape});
  if (!out) return out;
  if (out->elements() != operand.elements()) {
    auto message = fmt::format(
        "{} has {} elements, {} has {}",
        to_string(operand.shape),
        operand.elements(),
        to_string(shape),
        out->elements());
    return error("shape-mismatch", message);
  }
  return out;
}

Result<TensorType> infer_transpose(const TensorType& operand, const std::vector<int64_t>& axes) {
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool permutes = static_cast<int>(axes.size()) == operand.rank();
  for (size_t i = 0; permutes && i < sorted.size(); ++i) permutes = sorted[i] == static_cast<int64_t>(i);
  if (!permutes) {
    auto message = fmt::format("axes {} do not permute {} axes", to_string(axes), operand.rank());
    return error("axes-permutation", message);
  }
  TensorType out{operand.dtype, {}};
  for (auto axis : axes) out.shape.push_back(operand.shape[axis]);
  return out;
}

// Elements that start:stop:stride selects of n, in MLX's (NumPy's) reading of negative numbers.
int64_t slice_size(int64_t n, int64_t start, int64_t stop, int64_t stride) {
  auto from_end = [n](int64_t i) { return i < 0 ? i + n : i; };
  if (stride < 0) {
    int64_t first = std::min(from_end(start), n - 1);
    int64_t last = std::min(std::max<int64_t>(from_end(stop), -1), first);
    return first - last == 0 ? 0 : (first - last - 1) / -stride + 1;
  }
  int64_t first = std::clamp<int64_t>(from_end(start), 0, n);
  int64_t last = std::max(std::clamp<int64_t>(from_end(stop), 0, n), first);
  return last - first == 0 ? 0 : (last - first - 1) / stride + 1;
}

Result<TensorType> infer_slice(const TensorType& operand, const Attributes& attributes) {
  const auto& start = attributes.get<std::vector<int64_t>>("start");
  const auto& stop = attributes.get<std::vector<int64_t>>("stop");
  const auto& strides = attributes.get<std::vector<int64_t>>("strides");
  auto rank = operand.shape.size();
  if (start.size() != rank || stop.size() != rank || strides.size() != rank) {
    return error("rank-mismatch", fmt::format("start, stop and strides need {} entries each", rank));
  }
  TensorType out{operand.dtype, {}};
  for (size_t d = 0; d < rank; ++d) {
    if (strides[d] == 0 || strides[d] == INT64_MIN) {
      return error("slice-stride", fmt::format("stride {} is not possible", strides[d]));
    }
    out.shape.push_back(slice_size(operand.shape[d], start[d], stop[d], strides[d]));
  }
  return out;
}

Result<TensorType> infer_concatenate(const Types& operands, int64_t axis) {
  if (operands.empty()) return error("arity", "'concatenate' needs an operand");
  TensorType out = operands[0];
  if (axis < 0 || axis >= out.rank()) return error("axis-range", fmt::format("axis {} does not exist", axis));
  for (size_t i = 1; i < operands.size(); ++i) {
    const auto& next = operands[i];
    bool fits = next.rank() == out.rank() && next.dtype == out.dtype;
    for (int d = 0; fits && d < out.rank(); ++d) fits = d == axis || next.shape[d] == out.shape[d];
    if (!fits) {
      auto message = fmt::format("cannot append {} to {} along axis {}", to_string(next), to_string(out), axis);
      return error("shape-mismatch", message, "dtype, rank and all other sizes are equal");
    }
    out.shape[axis] += next.shape[axis];
    if (!checked_elements(out.shape)) return checked(out);
  }
  return out;
}

Result<TensorType> infer_gather_axis(const TensorType& source, const TensorType& indices, int64_t axis) {
  if (axis < 0 || axis >= source.rank()) return error("axis-range", fmt::format("axis {} does not exist", axis));
  if (!is_integer(indices.dtype)) {
    return error("dtype-not-allowed", fmt::format("indices are {}, not an integer", name(indices.dtype)));
  }
  bool fits = indices.rank() == source.rank();
  for (int d = 0; fits && d < source.rank(); ++d) fits = d == axis || indices.shape[d] == source.shape[d];
  if (!fits) {
    auto message = fmt::format(
        "indices {} do not fit {} along axis {}", to_string(indices.shape), to_string(source.shape), axis);
    return error("shape-mismatch", message, "rank and all other sizes are equal");
  }
  return TensorType{source.dtype, indices.shape};
}

Result<TensorType> infer_matmul(const TensorType& a, const TensorType& b) {
  auto dtype = infer_dtype(Op::div, {a.dtype, b.dtype});  // the same rule: equal and inexact
  if (!dtype) {
    auto message = fmt::format("'matmul' does not take {} and {}", name(a.dtype), name(b.dtype));
    return error(dtype.errors()[0].code.c_str(), message, "both have the same floating dtype");
  }
  if (a.rank() < 2 || b.rank() < 2) return error("rank-mismatch", "'matmul' needs at least two axes of each");
  Shape batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  auto shape = broadcast_shapes(batch_a, batch_b);
  if (!shape || a.shape.back() != b.shape[b.rank() - 2]) {
    return error(
        "shape-mismatch", fmt::format("cannot multiply {} by {}", to_string(a.shape), to_string(b.shape)));
  }
  shape->push_back(a.shape[a.rank() - 2]);
  shape->push_back(b.shape.back());
  return checked({*dtype, std::move(*shape)});
}

Result<TensorType> infer_full(const TensorType& operand, const Shape& shape) {
  if (operand.rank() != 0) return error("rank-mismatch", "the operand of 'full' is a scalar");
  return checked({operand.dtype, shape});
}

Result<TensorType> infer_arange(const Attributes& attributes) {
  auto dtype = attributes.get<Dtype>("dtype");
  if (dtype == Dtype::bool_ || dtype == Dtype::c64) {
    return error("dtype-not-allowed", fmt::format("'arange' does not give {}", name(dtype)));
  }
  return checked({dtype, {attributes.get<int64_t>("size")}});
}

Result<TensorType> infer(Op op, const Types& operands, const Attributes& attributes) {
  switch (class_of(op)) {
    case OpClass::elementwise: return infer_elementwise(op, operands, attributes);
    case OpClass::reduction: return infer_reduction(op, operands[0], attributes);
    case OpClass::composite: return infer_composite(op, operands[0], attributes);
    default: break;
  }
  switch (op) {
    case Op::constant: return infer_constant(attributes);
    case Op::full: return infer_full(operands[0], attributes.get<Shape>("shape"));
    case Op::arange: return infer_arange(attributes);
    case Op::broadcast: return infer_broadcast(operands[0], attributes.get<Shape>("shape"));
    case Op::reshape: return infer_reshape(operands[0], attributes.get<Shape>("shape"));
    case Op::transpose: return infer_transpose(operands[0], attributes.get<Shape>("axes"));
    case Op::slice: return infer_slice(operands[0], attributes);
    case Op::concatenate: return infer_concatenate(operands, attributes.get<int64_t>("axis"));
    case Op::gather_axis:
      return infer_gather_axis(operands[0], operands[1], attributes.get<int64_t>("axis"));
    case Op::matmul: return infer_matmul(operands[0], operands[1]);
    default:
      return error("not-inferable", fmt::format("types of '{}' are stated, not inferred", name(op)));
  }
}

}  // namespace

Result<std::vector<TensorType>> infer_types(
    Op op,
    const std::vector<TensorType>& operands,
    const Attributes& attributes) {
  if (arity(op) >= 0 && static_cast<int>(operands.size()) != arity(op)) {
    auto message = fmt::format("'{}' takes {} operands, not {}", name(op), arity(op), operands.size());
    return error("arity", message);
  }
  auto errors = check_attributes(op, attributes);
  if (!errors.empty()) return errors;
  auto type = infer(op, operands, attributes);
  if (!type) return type.errors();
  return Types{std::move(type).value()};
}

}  // namespace autoperfect

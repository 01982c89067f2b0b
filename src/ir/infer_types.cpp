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

Result<TensorType> infer_view(Op op, const TensorType& operand, const Attributes& attributes) {
  switch (op) {
    case Op::broadcast:
      return infer_broadcast(operand, attributes.get<Shape>("shape"));
    case Op::reshape:
      return infer_reshape(operand, attributes.get<Shape>("shape"));
    case Op::transpose:
      return infer_transpose(operand, attributes.get<Shape>("axes"));
    default:
      return infer_slice(operand, attributes);
  }
}

Result<TensorType> infer_indexing(Op op, const Types& operands, const Attributes& attributes) {
  switch (op) {
    case Op::as_strided:
      return infer_as_strided(operands[0], attributes);
    case Op::bitcast:
      return infer_bitcast(operands[0], attributes.get<Dtype>("dtype"));
    case Op::concatenate:
      return infer_concatenate(operands, attributes.get<int64_t>("axis"));
    case Op::pad:
      return infer_pad(operands, attributes);
    case Op::gather:
      return infer_gather(operands, attributes);
    case Op::gather_axis:
      return infer_gather_axis(operands[0], operands[1], attributes.get<int64_t>("axis"));
    case Op::scatter:
      return infer_scatter(operands, attributes);
    case Op::scatter_axis:
      return infer_scatter_axis(operands, attributes);
    case Op::masked_scatter:
      return infer_masked_scatter(operands);
    case Op::slice_update:
      return infer_slice_update(operands, attributes);
    case Op::dynamic_slice:
      return infer_dynamic_slice(operands, attributes);
    case Op::dynamic_slice_update:
      return infer_dynamic_slice_update(operands, attributes);
    default:
      return infer_search_sorted(operands);
  }
}

Result<TensorType> infer_contraction(Op op, const Types& operands, const Attributes& attributes) {
  switch (op) {
    case Op::addmm:
      return infer_addmm(operands);
    case Op::block_masked_mm:
      return infer_block_masked_mm(operands, attributes.get<int64_t>("block_size"));
    case Op::gather_mm:
      return infer_gather_mm(operands);
    case Op::segmented_mm:
      return infer_segmented_mm(operands);
    case Op::conv:
      return infer_conv(operands, attributes);
    case Op::hadamard:
      return infer_hadamard(operands[0]);
    case Op::quantized_matmul:
      return infer_quantized_matmul(operands, attributes);
    case Op::gather_qmm:
      return infer_gather_qmm(operands, attributes);
    case Op::qq_matmul:
    case Op::gather_qqmm:
      return infer_qq_matmul(op, operands, attributes);
    default:
      return infer_matmul(operands[0], operands[1]);
  }
}

Result<TensorType> infer_composite(Op op, const Types& operands, const Attributes& attributes) {
  switch (op) {
    case Op::softmax:
    case Op::log_softmax:
    case Op::logsumexp:
      return infer_last_axis(op, operands[0]);
    case Op::number_of_elements:
      return infer_number_of_elements(operands[0], attributes);
    case Op::rope:
      return infer_rope(operands, attributes);
    case Op::scaled_dot_product_attention:
      return infer_attention(operands, attributes);
    case Op::cross_entropy:
      return infer_cross_entropy(operands[0], operands[1]);
    case Op::dequantize:
      return infer_dequantize(operands, attributes);
    case Op::to_fp8:
    case Op::from_fp8:
      return infer_fp8(op, operands[0], attributes);
    default:
      return infer_moment(op, operands[0], attributes);
  }
}

Result<TensorType> infer_one(Op op, const Types& operands, const Attributes& attributes) {
  switch (class_of(op)) {
    case OpClass::source:
      return infer_source(op, operands, attributes);
    case OpClass::elementwise:
      return infer_elementwise(op, operands, attributes);
    case OpClass::reduction:
      return infer_reduction(op, operands[0], attributes);
    case OpClass::scan:
      return infer_scan(op, operands[0], attributes);
    case OpClass::composite:
      return infer_composite(op, operands, attributes);
    case OpClass::view:
      return infer_view(op, operands[0], attributes);
    case OpClass::indexing:
      return infer_indexing(op, operands, attributes);
    case OpClass::gemm:
      return infer_contraction(op, operands, attributes);
    case OpClass::barrier:
      break;
  }
  if (op == Op::random_bits) return infer_random_bits(operands[0], attributes);
  if (op == Op::fft) return infer_fft(operands[0], attributes);
  return infer_sort(op, operands[0], attributes);
}

Result<Types> infer(Op op, const Types& operands, const Attributes& attributes) {
  switch (op) {
    case Op::divmod:
      return infer_divmod(operands);
    case Op::split:
      return infer_split(operands[0], attributes);
    case Op::custom_transforms:
      return infer_custom_transforms(operands, attributes);
    case Op::rms_norm:
    case Op::rms_norm_vjp:
    case Op::layer_norm:
    case Op::layer_norm_vjp:
      return infer_norm(op, operands);
    case Op::quantize:
      return infer_quantize(operands, attributes);
    case Op::depends:
      return infer_depends(operands, attributes);
    case Op::inverse:
    case Op::cholesky:
    case Op::qr:
    case Op::svd:
    case Op::lu:
    case Op::eig:
    case Op::eigh:
      return infer_factorization(op, operands[0], attributes);
    default:
      break;
  }
  auto type = infer_one(op, operands, attributes);
  if (!type) return type.errors();
  return Types{std::move(type).value()};
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
  if (needs_its_primitive(op))
    return rule_broken("not-inferable", fmt::format("types of '{}' are stated, not inferred", name(op)));
  return infer(op, operands, attributes);
}

}  // namespace autoperfect

// Types of results, in MLX's own rules: from op to rule. The rules stand in infer_*.cpp, by family.
#include <fmt/format.h>

#include "ir/attribute_rules.h"
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
    case Op::cross_entropy:
    case Op::cross_entropy_vjp:
      return infer_cross_entropy(op, operands);
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
    case Op::scaled_dot_product_attention:
      return infer_attention(operands, attributes);
    case Op::scaled_dot_product_attention_vjp:
      return infer_attention_vjp(operands, attributes);
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

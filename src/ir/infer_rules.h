// The parts of infer_types(): one function per op or family of ops. Their attributes were checked before.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace autoperfect::infer_rules {

using Types = std::vector<TensorType>;

Diagnostic rule_broken(const char* code, std::string message, std::string hint = "");
Result<TensorType> checked(TensorType type);  // an error when its shape is not possible

Status check_distinct_axes(const std::vector<int64_t>& axes, int rank);
Result<TensorType> infer_reduced_shape(TensorType type, const std::vector<int64_t>& axes, bool keepdims);

// Arithmetic
Result<TensorType> infer_source(Op op, const Types& operands, const Attributes& attributes);
Result<TensorType> infer_elementwise(Op op, const Types& operands, const Attributes& attributes);
Result<TensorType> infer_reduction(Op op, const TensorType& operand, const Attributes& attributes);
Result<TensorType> infer_scan(Op op, const TensorType& operand, const Attributes& attributes);

// Composites
Result<TensorType> infer_moment(Op op, const TensorType& operand, const Attributes& attributes);
Result<TensorType> infer_last_axis(Op op, const TensorType& operand);
Result<Types> infer_divmod(const Types& operands);
Result<Types> infer_split(const TensorType& operand, const Attributes& attributes);
Result<TensorType> infer_number_of_elements(const TensorType& operand, const Attributes& attributes);
Result<Types> infer_custom_transforms(const Types& operands, const Attributes& attributes);
Result<Types> infer_norm(Op op, const Types& operands);  // rms and layer, forward and vjp
Result<TensorType> infer_rope(const Types& operands, const Attributes& attributes);
Result<Types> infer_attention(Types operands, const Attributes& attributes);
Result<Types> infer_attention_vjp(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_cross_entropy(Op op, const Types& operands);  // and its vjp
Result<TensorType> infer_fp8(Op op, const TensorType& operand, const Attributes& attributes);

// Quantized
Result<TensorType> infer_quantized_matmul(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_gather_qmm(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_qq_matmul(
    Op op, const Types& operands, const Attributes& attributes);  // and gather_qqmm
Result<Types> infer_quantize(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_dequantize(const Types& operands, const Attributes& attributes);

// Views and concatenation
Result<TensorType> infer_broadcast(const TensorType& operand, const Shape& shape);
Result<TensorType> infer_reshape(const TensorType& operand, const Shape& shape);
Result<TensorType> infer_transpose(const TensorType& operand, const std::vector<int64_t>& axes);
Result<TensorType> infer_slice(const TensorType& operand, const Attributes& attributes);
Result<TensorType> infer_concatenate(const Types& operands, int64_t axis);

// Indexing
Result<TensorType> infer_as_strided(const TensorType& operand, const Attributes& attributes);
Result<TensorType> infer_bitcast(const TensorType& operand, Dtype dtype);
Result<TensorType> infer_pad(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_gather(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_gather_axis(const TensorType& source, const TensorType& indices, int64_t axis);
Result<TensorType> infer_scatter(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_scatter_axis(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_masked_scatter(const Types& operands);
Result<TensorType> infer_slice_update(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_dynamic_slice(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_dynamic_slice_update(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_search_sorted(const Types& operands);

// Contractions
Result<TensorType> infer_matmul(const TensorType& a, const TensorType& b);
Result<TensorType> infer_addmm(const Types& operands);
Result<TensorType> infer_block_masked_mm(const Types& operands, int64_t block);
Result<TensorType> infer_gather_mm(const Types& operands);
Result<TensorType> infer_segmented_mm(const Types& operands);
Result<TensorType> infer_conv(const Types& operands, const Attributes& attributes);
Result<TensorType> infer_hadamard(const TensorType& x);

// Barriers
Result<TensorType> infer_sort(Op op, const TensorType& operand, const Attributes& attributes);
Result<TensorType> infer_random_bits(const TensorType& key, const Attributes& attributes);
Result<TensorType> infer_fft(const TensorType& operand, const Attributes& attributes);
Result<Types> infer_factorization(Op op, const TensorType& a, const Attributes& attributes);
Result<Types> infer_depends(const Types& operands, const Attributes& attributes);

}  // namespace autoperfect::infer_rules

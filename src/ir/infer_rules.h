// The parts of infer_types(): one function per op or family of ops. Their attributes were checked before.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace autoperfect::infer_rules {

using Types = std::vector<TensorType>;

Diagnostic rule_broken(const char* code, std::string message, std::string hint = "");
Result<TensorType> checked(TensorType type);  // an error when its shape is not possible

Result<TensorType> infer_broadcast(const TensorType& operand, const Shape& shape);
Result<TensorType> infer_reshape(const TensorType& operand, const Shape& shape);
Result<TensorType> infer_transpose(const TensorType& operand, const std::vector<int64_t>& axes);
Result<TensorType> infer_slice(const TensorType& operand, const Attributes& attributes);
Result<TensorType> infer_concatenate(const Types& operands, int64_t axis);
Result<TensorType> infer_gather_axis(const TensorType& source, const TensorType& indices, int64_t axis);

}  // namespace autoperfect::infer_rules

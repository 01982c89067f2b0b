// The dtype rules of elementwise ops, reductions, scans and contractions, the same for GraphIR and KernelIR.
#pragma once

#include <vector>

#include "ir/dtype.h"
#include "ir/op.h"
#include "support/result.h"

namespace autoperfect {

// dtype of the result, MLX's own: comparisons give bool, sums of small integers 32 bits, argmax u32. Not for
// cast, whose dtype is its own choice.
Result<Dtype> infer_dtype(Op op, const std::vector<Dtype>& operands);

// MLX's at_least_float: what mean, softmax... of integers are computed in.
Dtype at_least_float(Dtype dtype);

}  // namespace autoperfect

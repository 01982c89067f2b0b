// NumPy's .npy files, version 1: dense arrays in C order, little-endian.
#pragma once

#include <string>

#include "reference/tensor.h"
#include "support/result.h"

namespace autoperfect::cli {

// The array must have the dtype and rank of `wanted`; its sizes are its own. NumPy has no bf16: two-byte
// voids (as ml_dtypes writes them) and u16 stand for its bits.
Result<Tensor> read_npy(const std::string& path, const TensorType& wanted);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace autoperfect::cli

// NumPy's .npy files, little-endian.
#pragma once

#include <string>

#include "reference/tensor.h"
#include "support/result.h"

namespace autoperfect::cli {

// The array must have the dtype; its shape is its own. NumPy has no bf16: two-byte voids (as MLX's save and
// ml_dtypes write them) and u16 stand for its bits; voids are what is written.
Result<Tensor> read_npy(const std::string& path, Dtype wanted);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace autoperfect::cli

// Matrices packed in few bits: a number of each group is code * scale + bias. MLX's other modes (mxfp4,
// mxfp8, nvfp4) are made of plain operations on the CPU, and have no reference as one op.
#pragma once

#include <vector>

#include "reference/array.h"

namespace autoperfect {

bool is_affine(const Node& node);  // of quantize, dequantize and the products of packed matrices

// Codes, scales and biases.
std::vector<Array> quantize(
    const Node& node, const Array& w, const std::vector<TensorType>& results, Precision precision);

// In the dtype of the scales.
Array dequantize(
    const Node& node, const Array& packed, const Array& scales, const Array& biases, Precision precision);

// 8 bits with 4 of exponent and 3 of mantissa, where what is too large becomes 448.
Array to_fp8(const Array& x);
Array from_fp8(const Array& codes, Dtype dtype);

}  // namespace autoperfect

// Ops that move elements and compute nothing: views, concatenation, gathers.
#pragma once

#include <vector>

#include "reference/array.h"

namespace autoperfect {

// broadcast, full, reshape, transpose, slice.
Array run_view(const Node& node, const Array& operand, const TensorType& result);

// The part of `source` that begins at `begin` along `axis`.
Array part_of(const Array& source, int64_t axis, int64_t begin, const TensorType& result);

Array concatenate(const std::vector<const Array*>& parts, int64_t axis, const TensorType& result);

// take_along_axis: negative indices count from the end. An index out of range is an error (in MLX it is
// undefined).
Result<Array> gather_axis(const Array& source, const Array& indices, int64_t axis);

}  // namespace autoperfect

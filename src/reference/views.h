// Ops that move elements and compute nothing: views, concatenation.
#pragma once

#include <vector>

#include "reference/array.h"

namespace autoperfect {

// broadcast, full, reshape, transpose, slice.
Array run_view(const Node& node, const Array& operand, const TensorType& result);

// The part of `source` that begins at `begin` along `axis`.
Array part_of(const Array& source, int64_t axis, int64_t begin, const TensorType& result);

Array concatenate(const std::vector<const Array*>& parts, int64_t axis, const TensorType& result);

// The elements that a slice shows. Negative starts count from the end; a backward slice starts at the last
// element at most.
Walk slice_walk(const Shape& from, const Attributes& attributes);

}  // namespace autoperfect

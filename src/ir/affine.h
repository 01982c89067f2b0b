// Facts about affine index maps over boxes of axes, decided exactly. See store_tiling.h for those of stores.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

// Whether begin <= affine < end for all values of its axes (none of them empty).
bool in_bounds(const Affine& affine, const std::vector<Axis>& axes, int64_t begin, int64_t end);

}  // namespace autoperfect

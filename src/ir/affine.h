// Facts about affine index maps over boxes of axes, decided exactly.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

// Whether 0 <= affine < size for all values of its axes (none of them empty).
bool in_bounds(const Affine& affine, const std::vector<Axis>& axes, int64_t size);

// Whether an in-bounds map takes the box of `over` onto every element of `shape`, each exactly once, using
// each axis of `over`.
bool covers(
    const std::vector<Affine>& map,
    const std::vector<AxisId>& over,
    const std::vector<Axis>& axes,
    const Shape& shape);

}  // namespace autoperfect

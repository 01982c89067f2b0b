// Which inputs of a kernel are indices: whoever makes up data for it needs to know.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

// Per buffer the smallest dimension that its integers index, directly or through integer arithmetic; 0 when
// they index none. MLX defines indices from minus that size to that size less one. What is compared with a
// place along an axis, as the indices of a scatter are, indexes as well.
std::vector<int64_t> gathered_sizes(const Kernel& kernel);

}  // namespace autoperfect

// The cache key of a region: everything its binary and its decision depend on, as text.
#pragma once

#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/kernel.h"

namespace autoperfect {

std::string cache_key(const Kernel& kernel, const Target& target);

// Of all axes: the largest sizes whose decision is that of these.
std::vector<int64_t> largest_sizes(const Kernel& kernel);

}  // namespace autoperfect

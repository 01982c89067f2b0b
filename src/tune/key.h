// The cache key of a region: everything its binary and its decision depend on, as text.
#pragma once

#include <string>

#include "cost/cost.h"
#include "ir/kernel.h"

namespace autoperfect {

std::string cache_key(const Kernel& kernel, const Target& target);

}  // namespace autoperfect

// A kernel whose outputs do not share their loops (pieces of a concatenation, updates of several parameters,
// sums along different axes) is generated part by part; one launch runs them all.
#pragma once

#include <string>
#include <vector>

#include "generate/schedule/writer.h"
#include "ir/kernel.h"

namespace autoperfect::schedule {

// Each stores some of the outputs, with loops that fit all of them. In the order of the kernel.
std::vector<Kernel> split_into_parts(const Kernel& kernel);

// One kernel that runs all of them: a chunk of the launch does its share of each.
Written join_parts(const std::vector<Kernel>& parts, const std::vector<Written>& written);

}  // namespace autoperfect::schedule

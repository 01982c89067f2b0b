// What every kernel's text begins with, whatever its loops.
#pragma once

#include <string>
#include <vector>

#include "generate/schedule/nest.h"

namespace autoperfect::schedule {

extern const char* const signature_text;
extern const char* const finish_text;

// d0 and b<k>, of the buffers that are arguments.
std::string buffer_pointers(const Kernel& kernel, int depth);

// g<k> of some groups from their number, innermost last.
std::string group_indices(
    const Nest& nest, const std::vector<int>& groups, const std::string& number, int depth);

}  // namespace autoperfect::schedule

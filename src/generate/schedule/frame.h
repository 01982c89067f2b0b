// What every kernel's text begins with, whatever its loops.
#pragma once

#include <string>
#include <vector>

#include "generate/schedule/nest.h"

namespace autoperfect::schedule {

extern const char* const signature_text;
extern const char* const finish_text;

// The distance of the partial results of two chunks, for finish().
std::string partial_step(int64_t bytes);

// A kernel's text as that of a part of a larger kernel.
std::string renamed(
    std::string source, const std::string& part, int64_t partial_bytes, int64_t all_partial_bytes);

std::string dim_names(const Kernel& kernel, int depth);  // d0, d1...

// The dims and b<k>.
std::string buffer_pointers(const Kernel& kernel, int depth);

// g<k> of some groups from their number, innermost last.
std::string group_indices(
    const Nest& nest,
    const std::vector<int>& groups,
    const std::string& number,
    int depth,
    const std::string& type = "long");

}  // namespace autoperfect::schedule

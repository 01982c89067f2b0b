// The built-in generator: enumerates a few schedules for a kernel and writes C++ (for a target cuda.*, CUDA
// C++) for each, best guess first. Needs no network. Empty when the kernel is outside what it knows.
#pragma once

#include <vector>

#include "cost/cost.h"
#include "generate/candidate.h"

namespace autoperfect {

// Whether it knows the kernel's loops, without writing any. On a GPU contractions are left to MLX's
// libraries; f64 and c64 have no form anywhere.
bool has_schedule(const Kernel& kernel, const Target& target);

std::vector<Candidate> generate_schedules(const Kernel& kernel, const Target& target);

}  // namespace autoperfect

// The built-in generator for NVIDIA GPUs: a few mappings of a kernel's loops to threads, best guess first, as
// CUDA C++ behind the prelude of compile/cuda. Contractions are left to MLX's libraries.
#pragma once

#include <vector>

#include "cost/target.h"
#include "generate/candidate.h"

namespace autoperfect::schedule::cuda {

// Whether a launch tells the kernel enough: it is told the size of one axis, and no strides.
bool is_told_enough(const Kernel& kernel);

// f64 and c64 have no form on a GPU.
bool uses_long_numbers(const Kernel& kernel);

std::vector<Candidate> generate(const Kernel& kernel, const Target& target);

}  // namespace autoperfect::schedule::cuda

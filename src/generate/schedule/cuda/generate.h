// The built-in generator for NVIDIA GPUs: a few mappings of a kernel's loops to threads, best guess first, as
// CUDA C++ behind the prelude of compile/cuda. Contractions are left to MLX's libraries.
#pragma once

#include <vector>

#include "cost/target.h"
#include "generate/candidate.h"

namespace autoperfect::schedule::cuda {

std::vector<Candidate> generate(const Kernel& kernel, const Target& target);

}  // namespace autoperfect::schedule::cuda

// What surrounds the loops of a CUDA kernel.
#pragma once

#include <string>

#include "ir/kernel.h"

namespace autoperfect::schedule::cuda {

// Up to and with the brace of the device function of a part.
std::string part_head(const Kernel& kernel, const std::string& name);

}  // namespace autoperfect::schedule::cuda

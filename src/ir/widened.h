// What `wide yes` of a kernel's numerics means, said as a kernel without it.
#pragma once

#include "ir/kernel.h"

namespace autoperfect {

// Whether it has values whose rounding `wide` could leave out.
bool has_halves(const Kernel& kernel);

// The same kernel with every value of f16 and bf16 in f32: halves are converted where they are loaded, and
// rounded where they are stored. Buffers and axes are the same.
Kernel widened(const Kernel& kernel);

}  // namespace autoperfect

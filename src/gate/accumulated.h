// What a kernel that accumulates as the contract says gives where MLX itself rounds each step.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "reference/tensor.h"

namespace autoperfect {

// MLX rounds each step of a scan of halves, and so may stop rising long before the numbers do.
bool scans_halves(const Kernel& kernel);

// The outputs in exact dtype semantics, except that scans of halves run on in f32 and round each result once.
Result<std::vector<Tensor>> accumulated(const Kernel& kernel, const std::vector<Tensor>& inputs);

}  // namespace autoperfect

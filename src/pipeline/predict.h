// What the cost model expects a call of a program to take.
#pragma once

#include "cost/cost.h"
#include "pipeline/pipeline.h"

namespace autoperfect {

// Kernels as their regions cost, every other step as MLX's op.
double predict_seconds(const Program& program, const Target& target);

}  // namespace autoperfect

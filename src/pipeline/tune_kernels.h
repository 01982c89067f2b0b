// Kernels given by their contracts alone, without the program around them: what tuning and proving of
// KernelIR texts take. What wins is kept in the cache under the same key as for any program that holds the
// kernel.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "pipeline/pipeline.h"

namespace autoperfect {

// The default device, or the CPU where nothing of ours runs on that.
mlx::core::Device kernel_device();

// One outcome a kernel, in order. On the default stream of that device.
std::vector<RegionOutcome> tune_kernels(const std::vector<Kernel>& kernels, const TuneOptions& options);

// What became of a region's candidates: the gate, the times, and every attempt with its end.
std::string explain(const RegionOutcome& outcome, const Target& target);

}  // namespace autoperfect

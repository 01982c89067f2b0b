// Random kernels that the schedules for a GPU are for: inputs in rows, no contractions.
#pragma once

#include <vector>

#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "random_kernel.h"

namespace autoperfect {

struct RandomGpuKernel {
  unsigned seed;
  Kernel kernel;
};

// As many as asked for, of seeds first, first + step...; fewer where too many seeds give no legal kernel or
// one without a candidate.
inline std::vector<RandomGpuKernel> random_gpu_kernels(size_t count, unsigned first, unsigned step) {
  constexpr size_t most_tries = 8;
  const Target target = *find_target("cuda.sm_90");
  std::vector<RandomGpuKernel> found;
  for (size_t tried = 0; found.size() < count && tried < most_tries * count; ++tried) {
    const unsigned seed = first + static_cast<unsigned>(tried) * step;
    auto kernel = parse_kernel(RandomKernel(seed, {.layouts = false, .contractions = false}).text());
    if (!kernel || !verify(*kernel).empty() || generate_schedules(*kernel, target).empty()) continue;
    found.push_back({seed, std::move(*kernel)});
  }
  return found;
}

}  // namespace autoperfect

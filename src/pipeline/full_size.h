// Whether what a kernel gave at a program's own size is right: the gate's sizes are smaller, where axes are
// dynamic, and an index, a chunk or an alignment may fail beyond them; or somebody's kernel be exact only
// there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dispatch/dispatch.h"
#include "ir/kernel.h"

namespace autoperfect {

struct FullSize {
  Kernel kernel;  // with these sizes
  std::vector<mlx::core::array> inputs;
  std::vector<mlx::core::array> ours;
  std::function<std::vector<mlx::core::array>(const std::vector<mlx::core::array>& inputs)> mlx;
};

// Empty: right. Every element is compared with MLX's, coarsely; and some rows, so many that they have about
// `elements`, are judged as the gate judges. Which ones hangs on the seed. What is not near MLX's is judged
// whole, where the reference can do that in seconds.
std::string wrong_at_full_size(const FullSize& run, int64_t elements, uint64_t seed);

}  // namespace autoperfect

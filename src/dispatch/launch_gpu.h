// A kernel of ours as nodes of the work MLX collects for its GPU.
#pragma once

#include <vector>

#include "compile/cuda/device.h"
#include "mlx/array.h"
#include "mlx/stream.h"

namespace autoperfect {

// Gives the outputs their memory. Inputs that are not dense, or less aligned, are copied first.
// dynamic_size: of the dynamic axis, 0 where there is none.
void launch_gpu(
    const DeviceKernel& kernel,
    int64_t alignment,
    int64_t dynamic_size,
    mlx::core::Stream stream,
    const std::vector<mlx::core::array>& inputs,
    std::vector<mlx::core::array>& outputs);

}  // namespace autoperfect

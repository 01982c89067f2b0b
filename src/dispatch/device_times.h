// What a kernel takes by the device's own clock.
#pragma once

#include <vector>

#include "compile/cuda/device.h"
#include "mlx/array.h"
#include "support/device_times.h"

namespace autoperfect {

// Of calls one behind another, outside MLX's streams, which must have done what made the arrays. What failed
// is 0. dynamic_size: of the dynamic axis, 0 where there is none.
DeviceTimes device_times(
    const DeviceKernel& kernel,
    int64_t dynamic_size,
    const std::vector<mlx::core::array>& inputs,
    const std::vector<mlx::core::array>& outputs);

}  // namespace autoperfect

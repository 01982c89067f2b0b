// Runs an admitted kernel as an MLX primitive: lazy, on MLX's own stream, outputs in aligned reused buffers.
// Whatever the kernel was not made for (other dtypes, shapes, devices, a transformation it does not know)
// goes to the region's own MLX operations.
#pragma once

#include <memory>
#include <vector>

#include "capture/capture.h"
#include "compile/cpu/compile.h"
#include "ir/kernel.h"
#include "mlx/utils.h"

namespace autoperfect {

// A kernel ready to run: the contract, the loaded function (null: the fallback runs) and the fallback graph.
struct Executable {
  Kernel kernel;
  Graph fallback;  // raise(kernel)
  std::shared_ptr<LoadedKernel> loaded;
  Guards guards = {};  // what `loaded` assumes beyond the contract
};

// The outputs as lazy arrays. Inputs must have the kernel's dtypes and its shapes up to dynamic axes, and
// sizes must be what the guards admit; otherwise the fallback runs. Inputs that are not contiguous, or less
// aligned than the guards ask for, are copied first.
std::vector<mlx::core::array> dispatch(
    const std::shared_ptr<const Executable>& executable,
    const std::vector<mlx::core::array>& inputs,
    mlx::core::StreamOrDevice stream = {});

}  // namespace autoperfect

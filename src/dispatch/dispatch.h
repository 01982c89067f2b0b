// Runs an admitted kernel as an MLX primitive: lazy, on MLX's own stream, outputs in aligned reused buffers.
// Whatever the kernel was not made for (other dtypes, shapes, devices, a transformation it does not know)
// goes to the region's own MLX operations.
#pragma once

#include <memory>
#include <vector>

#include "capture/capture.h"
#include "compile/cpu/compile.h"
#include "compile/cuda/device.h"
#include "ir/kernel.h"
#include "mlx/utils.h"

namespace autoperfect {

// A kernel ready to run: the contract, the loaded function (for the CPU or the GPU; neither: the fallback
// runs) and the fallback graph.
struct Executable {
  Kernel kernel;
  Graph fallback;  // raise(kernel)
  std::shared_ptr<LoadedKernel> loaded = {};
  Guards guards = {};  // what the loaded function assumes beyond the contract
  // The same for inputs that lie otherwise than this kernel asks: a kernel all of whose inputs are `row`.
  std::shared_ptr<const Executable> otherwise = {};
  std::shared_ptr<const DeviceKernel> device = {};
  // What runs instead of the fallback graph where nothing is loaded: mx.compile's function, where that won.
  ArrayFunction plain = {};
};

// The outputs as lazy arrays. Inputs must have the kernel's dtypes and its shapes up to dynamic axes, and
// sizes must be what the guards admit; otherwise the fallback runs. How inputs lie is looked at when they are
// there: one that a kernel wants as `row`, or more aligned, is copied so first, and a kernel that wants
// another layout leaves other inputs to `otherwise`. An output takes the memory of the input its kernel names
// when nobody else needs that.
std::vector<mlx::core::array> dispatch(
    const std::shared_ptr<const Executable>& executable,
    std::vector<mlx::core::array> inputs,
    mlx::core::StreamOrDevice stream = {});

}  // namespace autoperfect

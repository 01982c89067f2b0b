// MLX's streams on an NVIDIA GPU, as far as a primitive of ours needs them: memory, dense copies, launches.
// MLX exports its command encoder; the rest is asked of its own primitives. All of it is looked up when this
// library is loaded, so that one build serves MLX with and without CUDA, and needs no headers of CUDA.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/cuda/device.h"
#include "mlx/array.h"
#include "mlx/stream.h"

namespace autoperfect {

class GpuStream {
 public:
  // Empty where kernels of ours can run on MLX's GPU, else why not. Found once.
  static const Status& available();

  explicit GpuStream(mlx::core::Stream stream);

  // Fresh memory on the device for an array that has none.
  void allocate(mlx::core::array& array) const;
  // Dense and row-major, on the device.
  mlx::core::array dense(const mlx::core::array& array) const;

  static DeviceAddress address(const mlx::core::array& array);

  void reads(const mlx::core::array& array) const;
  void writes(const mlx::core::array& array) const;
  void launch(void* function, CudaDevice::Size grid, CudaDevice::Size block, void** arguments) const;
  // Alive until what was launched so far is done.
  void keep(std::vector<mlx::core::array> arrays) const;

 private:
  struct Primitives;

  mlx::core::Stream stream_;
  const Primitives& primitives_;
  void* encoder_;
};

}  // namespace autoperfect

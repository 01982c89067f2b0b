// MLX's streams on an NVIDIA GPU, as far as a primitive of ours needs them: memory, dense copies, launches.
// MLX exports its command encoder; the rest is asked of its own primitives. All of it is looked up when this
// library is loaded, so that one build serves MLX with and without CUDA, and needs no headers of CUDA.
#pragma once

#include <cstdint>
#include <memory>
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

  // Fresh memory on the device, in the order of the stream of the array's primitive.
  static void allocate(mlx::core::array& array);
  // Of a stream that is named by a primitive on it: fresh bytes, and a dense and row-major copy of an array,
  // at the begin of memory of its own.
  static mlx::core::array bytes(int64_t count, const std::shared_ptr<mlx::core::Primitive>& on_stream);
  static mlx::core::array dense(
      const mlx::core::array& array, const std::shared_ptr<mlx::core::Primitive>& on_stream);

  static DeviceAddress address(const mlx::core::array& array);

  void reads(const mlx::core::array& array) const;
  void writes(const mlx::core::array& array) const;
  void launch(
      void* function,
      CudaDevice::Size grid,
      CudaDevice::Size block,
      unsigned shared_bytes,
      void** arguments) const;
  // The next launch, and what came before, starts as soon as it is collected, not when the evaluation has
  // collected more.
  void start_soon() const;
  // Alive until what was launched so far is done.
  void keep(std::vector<mlx::core::array> arrays) const;

 private:
  void* encoder_;
};

}  // namespace autoperfect

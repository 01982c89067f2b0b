#include "dispatch/launch_gpu.h"

#include <stdexcept>

#include "dispatch/gpu_stream.h"

namespace autoperfect {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

namespace {

// What the nodes of one call read and write: MLX orders nodes by the buffers they name.
struct Buffers {
  Arrays in, out;
  Arrays kept;  // that nobody else keeps alive
};

mx::array bytes_on(const GpuStream& stream, int64_t bytes) {
  mx::array memory({static_cast<int>(bytes)}, mx::uint8, nullptr, {});
  stream.allocate(memory);
  return memory;
}

}  // namespace

void launch_gpu(
    const DeviceKernel& kernel,
    int64_t dynamic_size,
    mx::Stream stream,
    const Arrays& inputs,
    Arrays& outputs) {
  GpuStream gpu(stream);
  Buffers buffers;
  std::vector<DeviceAddress> in, out;
  for (const auto& input : inputs) {
    bool is_dense = input.flags().row_contiguous;
    buffers.in.push_back(is_dense ? input : gpu.dense(input));
    if (!is_dense) buffers.kept.push_back(buffers.in.back());
    in.push_back(GpuStream::address(buffers.in.back()));
  }
  for (auto& output : outputs) {
    gpu.allocate(output);
    out.push_back(GpuStream::address(output));
  }
  buffers.out = outputs;
  DeviceAddress partial = 0;
  if (auto bytes = kernel.partial_bytes(dynamic_size); bytes && *bytes > 0) {
    buffers.kept.push_back(bytes_on(gpu, *bytes));
    buffers.out.push_back(buffers.kept.back());
    partial = GpuStream::address(buffers.kept.back());
  }
  auto launch =
      [&](void* function, CudaDevice::Size grid, CudaDevice::Size block, void** arguments) -> Status {
    for (const auto& array : buffers.in)
      gpu.reads(array);
    for (const auto& array : buffers.out)
      gpu.writes(array);
    gpu.launch(function, grid, block, arguments);
    return Success{};
  };
  auto status = kernel.run(in, out, partial, dynamic_size, launch);
  if (!status) throw std::runtime_error("[AutoPerfect] " + format(status.errors()));
  if (!buffers.kept.empty()) gpu.keep(std::move(buffers.kept));
}

}  // namespace autoperfect

#include "dispatch/gpu_stream.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "mlx/ops.h"
#include "mlx/primitives.h"
#include "mlx/transforms.h"

namespace mx = mlx::core;

// Exported by MLX's builds with CUDA (mlx/backend/cuda/device.h, which needs CUDA's headers); null in others.
// A method takes its object as its first argument, `Blocks` is passed as CUDA's dim3 is.
#define MLX_SYMBOL(name) __asm__(name) __attribute__((weak))

namespace autoperfect::mlx_cuda {

struct Blocks {
  unsigned x, y, z;
};

void* get_command_encoder(mx::Stream) MLX_SYMBOL("_ZN3mlx4core2cu19get_command_encoderENS0_6StreamE");
void set_input_array(void* encoder, const mx::array&)
    MLX_SYMBOL("_ZN3mlx4core2cu14CommandEncoder15set_input_arrayERKNS0_5arrayE");
void set_output_array(void* encoder, const mx::array&)
    MLX_SYMBOL("_ZN3mlx4core2cu14CommandEncoder16set_output_arrayERKNS0_5arrayE");
void add_completed_handler(void* encoder, std::function<void()>)
    MLX_SYMBOL("_ZN3mlx4core2cu14CommandEncoder21add_completed_handlerESt8functionIFvvEE");
void add_kernel_node(
    void* encoder,
    void* function,
    Blocks grid,
    Blocks block,
    Blocks cluster,
    uint32_t shared,
    void** arguments)
    MLX_SYMBOL("_ZN3mlx4core2cu14CommandEncoder19add_kernel_node_rawEP9CUfunc_st4dim3S5_S5_jPPv");

bool is_here() {
  return get_command_encoder && set_input_array && set_output_array && add_completed_handler &&
         add_kernel_node;
}

}  // namespace autoperfect::mlx_cuda

#undef MLX_SYMBOL

namespace autoperfect {
namespace {

// What MLX's arrays on a GPU point at (mlx/backend/cuda/allocator.h).

struct CudaBuffer {
  void* data;
  size_t size;
  int device;  // -1: memory of both sides
};

const CudaBuffer& buffer_of(const mx::array& array) {
  return *static_cast<const CudaBuffer*>(array.buffer().ptr());
}

mx::array without_memory(mx::Shape shape, mx::Dtype dtype) {
  return mx::array(std::move(shape), dtype, nullptr, {});
}

}  // namespace

struct GpuStream::Primitives {
  std::shared_ptr<mx::Primitive> concatenate, contiguous;

  static const Primitives& of(mx::Stream stream);
};

// Primitives of MLX are stateless but for their stream: one of each serves every call.
const GpuStream::Primitives& GpuStream::Primitives::of(mx::Stream stream) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<int, Primitives>;
  std::lock_guard lock(mutex);
  auto [place, is_new] = known.try_emplace(stream.index);
  if (is_new) {
    auto x = mx::array(0.0f);
    auto row = mx::reshape(x, {1}, stream);
    place->second.concatenate = mx::concatenate({row, row}, 0, stream).primitive_ptr();
    place->second.contiguous = mx::contiguous(row, false, stream).primitive_ptr();
  }
  return place->second;
}

GpuStream::GpuStream(mx::Stream stream)
    : stream_(stream), primitives_(Primitives::of(stream)), encoder_(mlx_cuda::get_command_encoder(stream)) {}

// A concatenation of nothing: MLX gives it memory in the order of the stream, and launches nothing.
void GpuStream::allocate(mx::array& array) const {
  std::vector<mx::array> outputs = {array};
  primitives_.concatenate->eval_gpu({}, outputs);
}

mx::array GpuStream::dense(const mx::array& array) const {
  // MLX's copies take the stream from the primitive of what they write.
  std::vector<mx::array> outputs = {mx::array(array.shape(), array.dtype(), primitives_.contiguous, {array})};
  primitives_.contiguous->eval_gpu({array}, outputs);
  outputs[0].detach();
  return outputs[0];
}

DeviceAddress GpuStream::address(const mx::array& array) {
  return reinterpret_cast<DeviceAddress>(buffer_of(array).data) + static_cast<DeviceAddress>(array.offset());
}

void GpuStream::reads(const mx::array& array) const {
  mlx_cuda::set_input_array(encoder_, array);
}

void GpuStream::writes(const mx::array& array) const {
  mlx_cuda::set_output_array(encoder_, array);
}

void GpuStream::launch(
    void* function, CudaDevice::Size grid, CudaDevice::Size block, void** arguments) const {
  mlx_cuda::Blocks blocks{grid[0], grid[1], grid[2]}, threads{block[0], block[1], block[2]};
  mlx_cuda::add_kernel_node(encoder_, function, blocks, threads, {1, 1, 1}, 0, arguments);
}

void GpuStream::keep(std::vector<mx::array> arrays) const {
  mlx_cuda::add_completed_handler(encoder_, [arrays = std::move(arrays)] {});
}

namespace {

Diagnostic unavailable(const std::string& reason) {
  return {"dispatch", "no-gpu-dispatch", reason, {}, "plain MLX runs on the GPU"};
}

// Memory comes as it is expected to, or this is another MLX than the one this was written for.
bool gives_device_memory() {
  constexpr int elements = 1 << 16;
  auto stream = mx::default_stream(mx::Device::gpu);
  auto array = without_memory({elements}, mx::float32);
  GpuStream(stream).allocate(array);
  if (!array.data_shared_ptr()) return false;
  const auto& buffer = buffer_of(array);
  bool good = buffer.data && buffer.device >= 0 && buffer.size >= sizeof(float) * elements;
  mx::synchronize(stream);
  return good;
}

Status find_out() {
  if (!mx::is_available(mx::Device::gpu)) return unavailable("MLX has no GPU here");
  if (!mlx_cuda::is_here()) return unavailable("this MLX does not export a command encoder for CUDA");
  mx::eval(mx::zeros({1}, mx::Device::gpu));  // MLX makes the context
  if (auto& device = CudaDevice::shared(); !device) return device.errors();
  try {
    if (!gives_device_memory()) return unavailable("MLX gives out memory in a way that is not known here");
  } catch (const std::exception& error) {
    return unavailable(error.what());
  }
  return Success{};
}

}  // namespace

const Status& GpuStream::available() {
  static const Status status = find_out();
  return status;
}

}  // namespace autoperfect

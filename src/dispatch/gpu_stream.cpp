#include "dispatch/gpu_stream.h"

#include <functional>
#include <memory>

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

using Arrays = std::vector<mx::array>;

// What MLX's arrays on a GPU point at (mlx/backend/cuda/allocator.h).

struct CudaBuffer {
  void* data;
  size_t size;
  int device;  // -1: memory of both sides
};

const CudaBuffer& buffer_of(const mx::array& array) {
  return *static_cast<const CudaBuffer*>(array.buffer().ptr());
}

// Primitives of MLX take the stream from what they write, and have no other state: one of each serves every
// call.
struct Borrowed {
  std::shared_ptr<mx::Primitive> exp, contiguous;
  Arrays nothing;       // no element, of an array that is not contiguous
  mx::array very_much;  // more than MLX lets one graph read

  static const Borrowed& of_mlx();
};

mx::array counted_as(const mx::array& memory, size_t elements) {
  mx::array array({0}, mx::float32, nullptr, {});
  array.copy_shared_buffer(memory, {1}, {false, false, false}, elements);
  return array;
}

const Borrowed& Borrowed::of_mlx() {
  static const auto& borrowed = *[] {
    auto x = mx::array(0.0f);
    return new Borrowed{
        mx::exp(x, mx::Device::gpu).primitive_ptr(),
        mx::contiguous(x, false, mx::Device::gpu).primitive_ptr(),
        {counted_as(x, 0)},
        counted_as(x, size_t{1} << 40)};
  }();
  return borrowed;
}

}  // namespace

GpuStream::GpuStream(mx::Stream stream) : encoder_(mlx_cuda::get_command_encoder(stream)) {}

// A function of an array without elements: MLX gives the result its memory in the order of the stream, and
// launches nothing.
void GpuStream::allocate(mx::array& array) {
  const auto& borrowed = Borrowed::of_mlx();
  static_cast<mx::UnaryPrimitive&>(*borrowed.exp).eval_gpu(borrowed.nothing, array);
}

mx::array GpuStream::dense(const mx::array& array, const std::shared_ptr<mx::Primitive>& on_stream) {
  // What is said to be dense, MLX would share.
  mx::array strided(array.shape(), array.dtype(), nullptr, {});
  strided.copy_shared_buffer(array, array.strides(), {false, false, false}, array.data_size());
  Arrays outputs = {mx::array(array.shape(), array.dtype(), on_stream, {array})};
  Borrowed::of_mlx().contiguous->eval_gpu({strided}, outputs);
  outputs[0].detach();
  return outputs[0];
}

mx::array GpuStream::bytes(int64_t count, const std::shared_ptr<mx::Primitive>& on_stream) {
  mx::array memory({static_cast<int>(count)}, mx::uint8, on_stream, {});
  allocate(memory);
  memory.detach();
  return memory;
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
    void* function,
    CudaDevice::Size grid,
    CudaDevice::Size block,
    unsigned shared_bytes,
    void** arguments) const {
  mlx_cuda::Blocks blocks{grid[0], grid[1], grid[2]}, threads{block[0], block[1], block[2]};
  mlx_cuda::add_kernel_node(encoder_, function, blocks, threads, {1, 1, 1}, shared_bytes, arguments);
}

// MLX starts a graph once what its nodes read exceeds a limit.
void GpuStream::start_soon() const {
  mlx_cuda::set_input_array(encoder_, Borrowed::of_mlx().very_much);
}

void GpuStream::keep(Arrays arrays) const {
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
  auto array = mx::array({elements}, mx::float32, mx::exp(mx::array(0.0f), stream).primitive_ptr(), {});
  GpuStream::allocate(array);
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

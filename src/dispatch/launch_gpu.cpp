#include "dispatch/launch_gpu.h"

#include <chrono>
#include <stdexcept>

#include "dispatch/gpu_backlog.h"
#include "dispatch/gpu_stream.h"

namespace autoperfect {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

namespace {

// One call: what its nodes read and write, which is what MLX orders nodes by.
class GpuCall {
 public:
  GpuCall(const DeviceKernel& kernel, int64_t dynamic_size, mx::Stream stream, Arrays& outputs)
      : kernel_(kernel), dynamic_size_(dynamic_size), gpu_(stream), outputs_(outputs) {}

  void read(const Arrays& inputs, int64_t alignment);
  void allocate();
  void launch();

 private:
  Status launch_one(
      void* function,
      CudaDevice::Size grid,
      CudaDevice::Size block,
      unsigned shared_bytes,
      void** arguments) const;

  const DeviceKernel& kernel_;
  int64_t dynamic_size_;
  GpuStream gpu_;
  Arrays& outputs_;
  std::vector<const mx::array*> read_;
  Arrays kept_;  // copies of inputs and partial results, which nobody else keeps alive
  std::vector<DeviceAddress> in_, out_;
  bool has_partials_ = false;  // the last of `kept_`
  int64_t bytes_ = 0;
};

void GpuCall::read(const Arrays& inputs, int64_t alignment) {
  kept_.reserve(inputs.size() + 1);
  read_.reserve(inputs.size());
  in_.reserve(inputs.size());
  for (const auto& input : inputs) {
    bool fits = input.flags().row_contiguous &&
                GpuStream::address(input) % static_cast<DeviceAddress>(alignment) == 0;
    if (!fits) kept_.push_back(GpuStream::dense(input, outputs_[0].primitive_ptr()));
    read_.push_back(fits ? &input : &kept_.back());
    in_.push_back(GpuStream::address(*read_.back()));
    bytes_ += static_cast<int64_t>(input.nbytes());
  }
}

void GpuCall::allocate() {
  out_.reserve(outputs_.size());
  for (auto& output : outputs_) {
    GpuStream::allocate(output);
    out_.push_back(GpuStream::address(output));
    bytes_ += static_cast<int64_t>(output.nbytes());
  }
  auto partial_bytes = kernel_.partial_bytes(dynamic_size_);
  has_partials_ = partial_bytes && *partial_bytes > 0;
  if (has_partials_) kept_.push_back(GpuStream::bytes(*partial_bytes, outputs_[0].primitive_ptr()));
}

Status GpuCall::launch_one(
    void* function,
    CudaDevice::Size grid,
    CudaDevice::Size block,
    unsigned shared_bytes,
    void** arguments) const {
  for (const auto* array : read_)
    gpu_.reads(*array);
  for (const auto& array : outputs_)
    gpu_.writes(array);
  if (has_partials_) gpu_.writes(kept_.back());
  gpu_.launch(function, grid, block, shared_bytes, arguments);
  return Success{};
}

void start_in_time(const GpuStream& gpu, int64_t bytes) {
  static thread_local GpuBacklog backlog;
  static const double bytes_per_second = (*CudaDevice::shared())->facts().bytes_per_second;
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (backlog.add(std::chrono::duration<double>(now).count(), bytes, bytes_per_second)) gpu.start_soon();
}

void GpuCall::launch() {
  auto launch = [this](
                    void* function,
                    CudaDevice::Size grid,
                    CudaDevice::Size block,
                    unsigned shared_bytes,
                    void** arguments) { return launch_one(function, grid, block, shared_bytes, arguments); };
  DeviceAddress partial = has_partials_ ? GpuStream::address(kept_.back()) : 0;
  start_in_time(gpu_, bytes_);
  auto status = kernel_.run(in_, out_, partial, dynamic_size_, launch);
  if (!status) throw std::runtime_error("[AutoPerfect] " + format(status.errors()));
  if (!kept_.empty()) gpu_.keep(std::move(kept_));
}

}  // namespace

void launch_gpu(
    const DeviceKernel& kernel,
    int64_t alignment,
    int64_t dynamic_size,
    mx::Stream stream,
    const Arrays& inputs,
    Arrays& outputs) {
  GpuCall call(kernel, dynamic_size, stream, outputs);
  call.read(inputs, alignment);
  call.allocate();
  call.launch();
}

}  // namespace autoperfect

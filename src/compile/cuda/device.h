// A GPU through CUDA's driver interface, looked up at run time: what the gate's helper and the device tests
// run kernels with, and what loads them for dispatch. The context is the device's primary one, which is MLX's
// as well: what is loaded here, MLX's streams can launch.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "generate/candidate.h"
#include "support/result.h"

namespace autoperfect {

struct Driver;  // functions of libcuda

using DeviceAddress = uint64_t;

struct DeviceFacts {
  std::string name;
  int capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
  int64_t shared_bytes = 0;        // of a block, at most
  double bytes_per_second = 1e12;  // of its memory, on paper
  int driver_version = 0;          // 13000 for 13.0
};

// Memory whose neighbours are mapped nowhere: whoever goes on past either end, by reading or writing, fails.
struct GuardedPages {
  DeviceAddress begin = 0;
  int64_t bytes = 0;
  bool guarded = false;  // false: the device cannot, and this is memory like any other
  DeviceAddress reserved = 0;
  int64_t reserved_bytes = 0;
  uint64_t handle = 0;
};

int cuda_driver_version();  // 13000 for 13.0; 0: no driver

// The first GPU. Not for several threads at once. After a kernel went wrong every call fails: the process has
// to end.
class CudaDevice {
 public:
  static Result<std::shared_ptr<CudaDevice>> open();
  // The one of this process, opened when it is first asked for and never closed.
  static const Result<std::shared_ptr<CudaDevice>>& shared();
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;

  const DeviceFacts& facts() const { return facts_; }

  Result<DeviceAddress> allocate(int64_t bytes);
  void release(DeviceAddress address);
  Result<GuardedPages> map_guarded(int64_t bytes);  // that many or more
  void unmap(const GuardedPages& pages);
  Status write(DeviceAddress to, const void* from, int64_t bytes);
  Status read(void* to, DeviceAddress from, int64_t bytes);
  Status fill(DeviceAddress to, int value, int64_t bytes);           // each byte
  Status copy(DeviceAddress to, DeviceAddress from, int64_t bytes);  // on the device
  Status synchronize();
  Result<double> seconds(const std::function<Status()>& work);  // on the device, by events

  Result<void*> load(const std::string& cubin);  // a module
  void unload(void* module);
  // shared_bytes: what a launch of it gives a block beyond what its code names.
  Result<void*> function(void* module, const std::string& name, int64_t shared_bytes);
  using Size = std::array<unsigned, 3>;
  Status launch(void* function, Size grid, Size block, unsigned shared_bytes, void** arguments);

 private:
  CudaDevice() = default;
  Status check(int status, const char* what) const;

  const Driver* driver_ = nullptr;
  void* context_ = nullptr;
  DeviceFacts facts_;
};

// A compiled candidate on a device, unloaded with its last owner. Any thread may run it.
class DeviceKernel {
 public:
  using Size = CudaDevice::Size;
  using Launcher =
      std::function<Status(void* function, Size grid, Size block, unsigned shared_bytes, void** arguments)>;

  static Result<std::shared_ptr<DeviceKernel>> load(
      std::shared_ptr<CudaDevice> device, const std::string& cubin, const Candidate& candidate);
  // On the shared device, once for a binary and for as long as the process lasts: a stream may still hold
  // launches of a kernel whose last user is gone.
  static Result<std::shared_ptr<DeviceKernel>> keep(const std::string& cubin, const Candidate& candidate);
  ~DeviceKernel();
  DeviceKernel(const DeviceKernel&) = delete;

  // Whether its launches are such that a GPU takes them, for a size of the dynamic axis (0: none is dynamic).
  bool launches(int64_t dynamic_size) const { return sizes(dynamic_size).ok(); }
  // Of what passes between its two launches.
  std::optional<int64_t> partial_bytes(int64_t dynamic_size) const;

  // Buffers in ABI order. Where one does not begin at a multiple of 16 bytes, the unaligned version runs, if
  // there is one. `launcher` launches, one or two functions in that order; without it the device does, on its
  // own stream. `reached`: of a counted build, where it notes its arms.
  Status run(
      const std::vector<DeviceAddress>& in,
      const std::vector<DeviceAddress>& out,
      DeviceAddress partial,
      int64_t dynamic_size,
      const Launcher& launcher = {},
      DeviceAddress reached = 0) const;

 private:
  DeviceKernel(std::shared_ptr<CudaDevice> device, Launch launch, SecondLaunch second)
      : device_(std::move(device)), launch_(std::move(launch)), second_(std::move(second)) {}

  // Of both launches, for a size of the dynamic axis: read from their expressions once.
  struct Sizes {
    Size grid[2], block[2];
    int64_t partial_bytes = 0;
  };
  Result<std::shared_ptr<const Sizes>> sizes(int64_t dynamic_size) const;
  Result<Sizes> read_sizes(int64_t dynamic_size) const;

  std::shared_ptr<CudaDevice> device_;
  Launch launch_;
  SecondLaunch second_;
  void* module_ = nullptr;
  void* kernels_[2] = {};       // aligned, unaligned
  void* finishes_[2] = {};      // the same; null: none
  std::optional<Sizes> fixed_;  // where no axis is dynamic: looked up in every call
  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::shared_ptr<const Sizes>> sizes_;
};

}  // namespace autoperfect

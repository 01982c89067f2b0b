#include "dispatch/device_times.h"

#include <algorithm>

#include "dispatch/gpu_stream.h"

namespace autoperfect {
namespace {

using Arrays = std::vector<mlx::core::array>;

constexpr int rounds = 3;
constexpr size_t least_calls = 2, most_calls = 20;  // of a round, on the same arrays
constexpr double round_seconds = 0.02;

// What one call reads and writes.
struct Arguments {
  std::vector<DeviceAddress> in, out;
};

Arguments arguments_of(const Arrays& inputs, const Arrays& outputs) {
  Arguments arguments;
  for (const auto& input : inputs)
    arguments.in.push_back(GpuStream::address(input));
  for (const auto& output : outputs)
    arguments.out.push_back(GpuStream::address(output));
  return arguments;
}

// Device memory until the end of its scope; 0: there was none.
class Memory {
 public:
  Memory(CudaDevice& device, int64_t bytes) : device_(device) {
    auto allocated = device.allocate(bytes);
    if (allocated) address_ = *allocated;
  }
  ~Memory() {
    if (address_) device_.release(address_);
  }
  Memory(const Memory&) = delete;
  DeviceAddress address() const { return address_; }

 private:
  CudaDevice& device_;
  DeviceAddress address_ = 0;
};

// Sets of arguments with equal contents, so many that a call of each in turn finds nothing of its own in L2;
// where calls are so small that it would take too many of them, L2 is filled with something else before.
class ColdArguments {
 public:
  ColdArguments(CudaDevice& device, const Arrays& inputs, const Arrays& outputs)
      : device_(device),
        beyond_l2_(2 * device.facts().l2_bytes),
        bytes_(padded_bytes(inputs) + padded_bytes(outputs)),
        count_(count()),
        memory_(device, (count_ - 1) * bytes_ + beyond_l2_) {
    sets_.push_back(arguments_of(inputs, outputs));
    for (int64_t k = 1; is_there() && k < count_; ++k)
      add_set(memory_.address() + beyond_l2_ + (k - 1) * bytes_, inputs, outputs);
  }

  bool is_there() const { return memory_.address() != 0 && status_.ok(); }
  const std::vector<Arguments>& sets() const { return sets_; }
  Status before_round() {
    return count_ * bytes_ < beyond_l2_ ? device_.fill(memory_.address(), 0, beyond_l2_) : Status(Success{});
  }

 private:
  static constexpr int64_t alignment = 256, most_sets = 256;

  static int64_t padded(size_t bytes) {
    return (static_cast<int64_t>(bytes) + alignment - 1) / alignment * alignment;
  }
  static int64_t padded_bytes(const Arrays& arrays) {
    int64_t sum = 0;
    for (const auto& array : arrays)
      sum += padded(array.nbytes());
    return sum;
  }
  // What is far larger than L2 leaves nothing there that its next call begins with.
  int64_t count() const {
    if (bytes_ >= 2 * beyond_l2_) return 1;
    return std::clamp<int64_t>(beyond_l2_ / std::max<int64_t>(bytes_, 1) + 2, 2, most_sets);
  }
  void add_set(DeviceAddress at, const Arrays& inputs, const Arrays& outputs) {
    Arguments set;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (status_) status_ = device_.copy(at, sets_[0].in[i], static_cast<int64_t>(inputs[i].nbytes()));
      set.in.push_back(at);
      at += static_cast<DeviceAddress>(padded(inputs[i].nbytes()));
    }
    for (const auto& output : outputs) {
      set.out.push_back(at);
      at += static_cast<DeviceAddress>(padded(output.nbytes()));
    }
    sets_.push_back(std::move(set));
  }

  CudaDevice& device_;
  int64_t beyond_l2_, bytes_, count_;
  Memory memory_;
  std::vector<Arguments> sets_;
  Status status_ = Success{};
};

}  // namespace

DeviceTimes device_times(
    const DeviceKernel& kernel, int64_t dynamic_size, const Arrays& inputs, const Arrays& outputs) {
  auto& shared = CudaDevice::shared();
  auto partial_bytes = kernel.partial_bytes(dynamic_size);
  if (!shared || !partial_bytes) return {};
  CudaDevice& device = **shared;
  const Memory partial(device, *partial_bytes);
  if (!partial.address() && *partial_bytes > 0) return {};
  ColdArguments cold(device, inputs, outputs);
  auto seconds_of = [&](const std::vector<Arguments>& sets, size_t calls) {
    auto seconds = device.seconds([&]() -> Status {
      for (size_t call = 0; call < calls; ++call) {
        const auto& [in, out] = sets[call % sets.size()];
        if (auto status = kernel.run(in, out, partial.address(), dynamic_size); !status) return status;
      }
      return Success{};
    });
    return seconds ? *seconds / static_cast<double>(calls) : 0.0;
  };
  auto keep_least = [](double& least, double seconds) {
    if (seconds > 0 && (least == 0 || seconds < least)) least = seconds;
  };
  const std::vector<Arguments> same = {arguments_of(inputs, outputs)};
  const double once = seconds_of(same, least_calls);
  if (once <= 0) return {};
  const auto calls =
      static_cast<size_t>(std::clamp(round_seconds / once, double{least_calls}, double{most_calls}));
  DeviceTimes times;
  for (int round = 0; round < rounds; ++round) {
    keep_least(times.warm, seconds_of(same, calls));
    if (!cold.is_there() || !cold.before_round()) continue;
    const size_t sets = cold.sets().size();
    keep_least(times.cold, seconds_of(cold.sets(), sets == 1 ? calls : sets));
  }
  return times;
}

}  // namespace autoperfect

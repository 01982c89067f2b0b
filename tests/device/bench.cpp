// Device time of every built-in candidate of some kernels, by events, with buffers that do not stay in L2:
//   device_bench kernel.ap...     GB/s of what the kernel must read and write, next to a copy of the same
//   kind
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <future>
#include <sstream>

#include "compile/cuda/compile.h"
#include "compile/cuda/device.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

constexpr int calls = 20, rounds = 5;
constexpr int64_t beyond_l2 = int64_t{256} << 20;

const char* const copy_text = R"(autoperfect.kernel 1
kernel @copy {
  abi {
    in %x: f32[33554432] row
    out %y: f32[33554432] row
  }
  math {
    axes i=33554432
    %y[i] = copy %x[i] : f32
  }
  numerics {
    accumulate f32
  }
}
)";

struct Buffers {
  std::vector<DeviceAddress> in, out;
};

Buffers allocate(CudaDevice& device, const Kernel& kernel) {
  Buffers buffers;
  for (auto& buffer : kernel.buffers) {
    auto address = device.allocate(buffer.type.bytes());
    if (!address) std::exit(1);
    // 0x3c in each byte is a number near 0.01 in every float dtype, and a valid, if large, index.
    (void)device.fill(*address, is_floating(buffer.type.dtype) ? 0x3c : 0, buffer.type.bytes());
    (buffer.role == BufferRole::in ? buffers.in : buffers.out).push_back(*address);
  }
  return buffers;
}

void time_candidates(
    const std::shared_ptr<CudaDevice>& device, const Kernel& kernel, const std::string& name) {
  Target target = *find_target("cuda.sm_" + std::to_string(device->facts().capability));
  target.threads = device->facts().multiprocessors;
  int64_t bytes = 0, dynamic_size = 0;
  for (auto& buffer : kernel.buffers)
    bytes += buffer.type.bytes();
  for (auto& axis : kernel.axes)
    if (axis.dynamic) dynamic_size = axis.size;
  std::vector<Buffers> sets;
  for (int64_t held = 0; held < beyond_l2 || sets.size() < 2; held += bytes)
    sets.push_back(allocate(*device, kernel));
  std::printf("%s: %.1f MB\n", name.c_str(), static_cast<double>(bytes) / 1e6);
  std::vector<std::future<Result<CudaBinary>>> binaries;
  auto candidates = generate_schedules(kernel, target);
  for (auto& candidate : candidates)
    binaries.push_back(std::async(
        std::launch::async, [&] { return compile_cuda(candidate.source, device->facts().capability); }));
  for (size_t c = 0; c < candidates.size(); ++c) {
    auto& candidate = candidates[c];
    auto binary = binaries[c].get();
    if (!binary) {
      std::printf("  %s\n", format(binary.errors()).c_str());
      continue;
    }
    auto loaded = DeviceKernel::load(device, binary->cubin, candidate);
    if (!loaded) continue;
    auto partial = device->allocate((*loaded)->partial_bytes(dynamic_size).value_or(0));
    std::vector<double> times;
    size_t set = 0;
    for (int round = 0; round < rounds; ++round) {
      auto seconds = device->seconds([&]() -> Status {
        for (int call = 0; call < calls; ++call, set = (set + 1) % sets.size())
          if (auto status = (*loaded)->run(sets[set].in, sets[set].out, *partial, dynamic_size); !status)
            return status;
        return Success{};
      });
      if (!seconds) {
        std::printf("  %s\n", format(seconds.errors()).c_str());
        std::exit(1);
      }
      times.push_back(*seconds / calls);
    }
    std::sort(times.begin(), times.end());
    double median = times[times.size() / 2];
    std::printf(
        "  %8.1f us %7.0f GB/s  %s\n",
        median * 1e6,
        static_cast<double>(bytes) / median / 1e9,
        candidate.provenance.c_str());
    device->release(*partial);
  }
  for (auto& buffers : sets) {
    for (auto* list : {&buffers.in, &buffers.out})
      for (DeviceAddress address : *list)
        device->release(address);
  }
}

int run(int argc, char** argv) {
  auto device = CudaDevice::open();
  if (!device) {
    std::printf("no GPU: %s\n", device.errors().at(0).message.c_str());
    return 1;
  }
  auto& facts = (*device)->facts();
  std::printf(
      "%s, sm_%d, %d multiprocessors, %.0f MB of L2, driver %d\n",
      facts.name.c_str(),
      facts.capability,
      facts.multiprocessors,
      static_cast<double>(facts.l2_bytes) / 1e6,
      facts.driver_version);
  time_candidates(*device, *parse_kernel(copy_text), "copy");
  for (int k = 1; k < argc; ++k) {
    std::ifstream file(argv[k]);
    std::stringstream text;
    text << file.rdbuf();
    auto kernel = parse_kernel(text.str());
    if (!kernel) {
      std::printf("%s: %s\n", argv[k], format(kernel.errors()).c_str());
      return 1;
    }
    time_candidates(*device, *kernel, argv[k]);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace autoperfect

int main(int argc, char** argv) {
  return autoperfect::run(argc, argv);
}

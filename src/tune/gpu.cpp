// The description of the GPU that MLX computes on.
#include <fmt/format.h>

#include <algorithm>

#include "compile/cuda/device.h"
#include "support/hash.h"
#include "tune/machine.h"

namespace autoperfect {
namespace {

constexpr int measurement_version = 1;
constexpr const char* kept_file = "gpu.json";

// Bytes per second, read plus written, of the best of some copies far beyond L2. 0: no memory.
double copy_bytes_per_second(CudaDevice& device) {
  constexpr int64_t bytes = int64_t{256} << 20;
  constexpr int rounds = 8;
  auto from = device.allocate(bytes), to = device.allocate(bytes);
  double best = 0;
  for (int round = 0; from && to && round < rounds; ++round) {
    auto seconds = device.seconds([&] { return device.copy(*to, *from, bytes); });
    if (seconds && *seconds > 0) best = std::max(best, 2.0 * static_cast<double>(bytes) / *seconds);
  }
  if (from) device.release(*from);
  if (to) device.release(*to);
  return best;
}

void measure(Target& target, CudaDevice& device) {
  double copy = copy_bytes_per_second(device);
  if (copy > 0) {
    target.cache_bytes_per_second *= copy / target.copy_bytes_per_second;
    target.copy_bytes_per_second = copy;
  }
  // A kernel of ours is an op to MLX like any other.
  if (MlxProbe probe = mlx_probe()) target.launch_seconds = target.mlx.op_seconds = probe(true);
}

Result<Target> read_or_measure() {
  auto& device = CudaDevice::shared();
  if (!device) return device.errors();
  const DeviceFacts& facts = (*device)->facts();
  auto target = find_target(fmt::format("cuda.sm_{}", facts.capability));
  if (!target)
    return Diagnostic{
        "tune", "old-gpu", "GPUs before compute capability 8.0 are not supported", {}, "plain MLX runs"};
  target->threads = facts.multiprocessors;
  if (facts.l2_bytes > 0) target->l3_bytes = facts.l2_bytes;
  if (facts.shared_bytes > 0) target->shared_bytes = facts.shared_bytes;
  std::string identity = hash_hex(fmt::format(
      "{},{},{},{},{},{}",
      measurement_version,
      facts.name,
      facts.capability,
      facts.multiprocessors,
      facts.driver_version,
      mlx_probe() ? "mlx" : ""));
  if (auto kept = read_kept_machine(kept_file, *target, identity)) {
    target = kept;
  } else {
    measure(*target, **device);
    keep_machine(kept_file, *target, identity);
  }
  constexpr double share_of_mlx = 0.95;
  target->mlx.bytes_per_second = share_of_mlx * target->copy_bytes_per_second;
  return *target;
}

}  // namespace

const Result<Target>& this_gpu() {
  static const Result<Target> target = read_or_measure();
  return target;
}

}  // namespace autoperfect

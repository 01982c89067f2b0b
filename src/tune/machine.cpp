#include "tune/machine.h"

#include <algorithm>
#include <atomic>
#include <fstream>

#include "cache/cache.h"
#include "compile/cpu/compile.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/options.h"
#include "tune/probes.h"

namespace autoperfect {
namespace {

constexpr int measurement_version = 1;  // raise it when the probes or what they mean change

constexpr const char* kept_file = "machine.json";

std::atomic<MlxProbe> known_probe{nullptr};

// A hypervisor may name any processor the same; its vectors, caches and threads tell most of them apart.
std::string identity_of(const Target& target) {
  std::ifstream info("/proc/cpuinfo");
  std::string model;
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model", 0) == 0 || line.rfind("stepping", 0) == 0) {
      model += line;
      if (line.rfind("stepping", 0) == 0) break;
    }
  for (int64_t part :
       {int64_t{measurement_version},
        int64_t{target.threads},
        target.l1_bytes,
        target.l2_bytes,
        target.l3_bytes})
    model += "," + std::to_string(part);
  bool knows_mlx = mlx_probe() != nullptr;
  return hash_hex(model + target.name + cpu_features() + (knows_mlx ? "mlx" : ""));
}

// Well beyond the last-level cache.
int64_t copy_bytes(const Target& target) {
  return std::clamp(4 * target.l3_bytes, int64_t{64} << 20, int64_t{128} << 20);
}

Target measure(Target target) {
  double copy = probe_copy_bytes_per_second(copy_bytes(target), target.threads);
  if (copy > 0) {
    target.copy_bytes_per_second = copy;
    target.cache_bytes_per_second = 3 * copy;
  }
  target.flops_per_second = probe_flops_per_second(target.threads);
  // Beside the threads, a kernel is an op to MLX like any other.
  if (MlxProbe probe = mlx_probe()) target.mlx.op_seconds = probe(false);
  target.launch_seconds = probe_launch_seconds(target.threads) + target.mlx.op_seconds;
  return target;
}

Target unmeasured() {
  Target target = default_cpu_target();
  target.threads = pool_threads();
  return target;
}

std::string kept_path(const char* file) {
  return Cache::instance().directory() + "/" + file;
}

// Far below what any such processor does: others had the machine all the while, and the next process
// measures.
bool is_too_low(const Target& measured, const Target& expected) {
  constexpr double least = 0.05;
  return measured.copy_bytes_per_second < least * expected.copy_bytes_per_second ||
         measured.flops_per_second < least * expected.flops_per_second;
}

Target read_or_measure() {
  Target target = unmeasured();
  std::string identity = identity_of(target);
  if (auto kept = read_kept_machine(kept_file, target, identity)) return *kept;
  Target measured = measure(target);
  if (is_too_low(measured, target)) return target;
  keep_machine(kept_file, measured, identity);
  return measured;
}

}  // namespace

void set_mlx_probe(MlxProbe probe) {
  known_probe = probe;
}

MlxProbe mlx_probe() {
  return known_probe.load();
}

std::optional<Target> read_kept_machine(const char* file, const Target& on, const std::string& identity) {
  if (!Cache::instance().persistent()) return std::nullopt;
  auto text = read_file(kept_path(file), 1 << 16);
  return text ? parse_machine(*text, on, identity) : std::nullopt;
}

void keep_machine(const char* file, const Target& target, const std::string& identity) {
  if (!Cache::instance().persistent() || environment().cache != "on") return;
  if (!write_file_atomically(kept_path(file), machine_text(target, identity)).ok())
    log_info("the description of this machine could not be kept");
}

double measured_copy_limit() {
  const Target& target = this_machine();
  double copy = probe_copy_bytes_per_second(copy_bytes(target), target.threads);
  return copy > 0 ? copy : target.copy_bytes_per_second;
}

Target remeasure_machine() {
  Target target = unmeasured();
  std::string identity = identity_of(target);
  Target now = measure(target);
  if (auto before = read_kept_machine(kept_file, target, identity)) {
    now.copy_bytes_per_second = std::max(now.copy_bytes_per_second, before->copy_bytes_per_second);
    now.cache_bytes_per_second = std::max(now.cache_bytes_per_second, before->cache_bytes_per_second);
    now.flops_per_second = std::max(now.flops_per_second, before->flops_per_second);
    now.launch_seconds = std::min(now.launch_seconds, before->launch_seconds);
    now.mlx.op_seconds = std::min(now.mlx.op_seconds, before->mlx.op_seconds);
  }
  keep_machine(kept_file, now, identity);
  return now;
}

const Target& this_machine() {
  static const Target target = read_or_measure();
  return target;
}

}  // namespace autoperfect

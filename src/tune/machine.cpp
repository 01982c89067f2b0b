#include "tune/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cache/cache.h"
#include "compile/cpu/compile.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/options.h"
#include "tune/key.h"

namespace autoperfect {
namespace {

using nlohmann::json;

constexpr int64_t copy_bytes = int64_t{128} << 20;  // well beyond the last-level cache
constexpr int copy_rounds = 7;

struct Mapped {
  void* data;
  explicit Mapped(size_t bytes) : size(bytes) {
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
  }
  ~Mapped() {
    if (data) munmap(data, size);
  }
  Mapped(const Mapped&) = delete;
  size_t size;
};

constexpr const char* copy_kernel = R"(autoperfect.kernel 1
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
    reassociate no
    budget ulp=0.0 abs=0.0 rel=0.0
  }
}
)";

// A copy by the generator's own streaming schedule. Kept in the cache like any kernel: a warm start compiles
// nothing.
std::shared_ptr<LoadedKernel> copy_by_streaming(const Target& target) {
  auto kernel = parse_kernel(copy_kernel);
  if (!kernel) throw InternalError("machine: " + format(kernel.errors()));
  std::string key = cache_key(*kernel, target);
  if (auto entry = Cache::instance().find(key)) {
    auto loaded = load_cpu(entry->binary, entry->candidate.launch);
    if (loaded) return *loaded;
  }
  auto candidates = generate_schedules(*kernel, target);
  auto binary = compile_cpu(candidates.at(0).source, *system_compiler());
  if (!binary) return nullptr;
  auto loaded = load_cpu(*binary, candidates[0].launch);
  if (!loaded) return nullptr;
  Cache::instance().store({key, copy_kernel, false, candidates[0], std::move(*binary), "{}"});
  return *loaded;
}

// The best of several rounds; bytes read and bytes written both count.
double measure_copy(const Target& target) {
  auto copy = copy_by_streaming(target);
  Mapped from(copy_bytes), to(copy_bytes);
  if (!copy || !from.data || !to.data) return 0;
  const void* in[] = {from.data};
  void* out[] = {to.data};
  double best = 0;
  for (int round = 0; round < copy_rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    launch_cpu(*copy, in, out, nullptr, copy_bytes / 4);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * copy_bytes / seconds);
  }
  return best;
}

std::string identity(const Target& target) {
  std::ifstream info("/proc/cpuinfo");
  std::string model;
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) {
      model = line;
      break;
    }
  return hash_hex(model + target.name + std::to_string(target.threads) + hash_hex(prelude_source()));
}

Target measure() {
  Target target = default_cpu_target();
  target.threads = pool_threads();
  std::string id = identity(target);
  auto& cache = Cache::instance();
  std::string path = cache.directory() + "/machine.json";
  bool keep = cache.persistent();
  if (auto text = keep ? read_file(path, 1 << 16) : std::nullopt) {
    auto stored = json::parse(*text, nullptr, false);
    if (stored.is_object() && stored.value("identity", "") == id) {
      target.copy_bytes_per_second = stored.value("copy_bytes_per_second", target.copy_bytes_per_second);
      return target;
    }
  }
  if (!system_compiler().ok()) return target;
  double copy = measure_copy(target);
  if (copy <= 0) return target;
  target.copy_bytes_per_second = copy;
  json stored = {{"identity", id}, {"copy_bytes_per_second", copy}, {"threads", target.threads}};
  if (keep && environment().cache == "on" && !write_file_atomically(path, stored.dump()).ok())
    log_info("the description of this machine could not be kept");
  return target;
}

}  // namespace

double measured_copy_limit() {
  if (!system_compiler().ok()) return this_machine().copy_bytes_per_second;
  double copy = measure_copy(this_machine());
  return copy > 0 ? copy : this_machine().copy_bytes_per_second;
}

const Target& this_machine() {
  static const Target target = measure();
  return target;
}

}  // namespace autoperfect

#include "cost/target.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace autoperfect {
namespace {

Target cpu(std::string name, int lanes, int registers) {
  Target target;
  target.name = std::move(name);
  target.threads = 2;
  target.lanes = lanes;
  target.vector_registers = registers;
  target.copy_bytes_per_second = 40e9;
  target.cache_bytes_per_second = 120e9;
  target.flops_per_second = 8e9 * lanes * target.threads;
  target.l2_bytes = int64_t{1} << 20;
  target.l3_bytes = int64_t{32} << 20;
  return target;
}

// Small work there is all overhead, and MLX's own kernels are fast: what counts is fewer, larger regions.
Target h200() {
  Target target;
  target.name = "cuda.h200";
  target.capability = 90;
  target.threads = 132;
  target.lanes = 32;
  target.vector_registers = 255;
  target.copy_bytes_per_second = 4.3e12;
  target.cache_bytes_per_second = 10e12;
  target.flops_per_second = 67e12;
  target.gemm_share = 0.75;
  target.contracts = false;
  target.library_attention = true;
  target.launch_seconds = 10e-6;
  target.l1_bytes = int64_t{128} << 10;
  target.shared_bytes = int64_t{227} << 10;
  target.l2_bytes = int64_t{384} << 10;
  target.l3_bytes = int64_t{50} << 20;
  target.mlx = {10e-6, 4.0e12, 50e12, 0, int64_t{1} << 60, false};
  return target;
}

// The smallest of Apple's: what is fast there does not hurt on larger ones.
Target m1() {
  Target target;
  target.name = "metal.m1";
  target.threads = 8;
  target.lanes = 32;
  target.vector_registers = 128;
  target.copy_bytes_per_second = 58e9;
  target.cache_bytes_per_second = 120e9;
  target.flops_per_second = 2.6e12;
  target.launch_seconds = 10e-6;
  target.l1_bytes = int64_t{32} << 10;  // memory of a threadgroup
  target.l2_bytes = int64_t{768} << 10;
  target.l3_bytes = int64_t{8} << 20;
  target.mlx = {10e-6, 55e9, 2.0e12, 0, int64_t{1} << 60, false};
  return target;
}

// A GPU known by its capability alone: an A100 or an H200; of others the number of multiprocessors is a
// guess, and what it decides (how many blocks share a long sum) matters little.
std::optional<Target> gpu_of_capability(std::string_view name) {
  constexpr std::string_view prefix = "cuda.sm_";
  constexpr int oldest = 80;
  if (!name.starts_with(prefix)) return std::nullopt;
  Target target = h200();
  auto digits = name.substr(prefix.size());
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), target.capability);
  if (error != std::errc() || end != digits.data() + digits.size() || target.capability < oldest)
    return std::nullopt;
  target.name = name;
  if (target.capability != 90) target.shared_bytes = int64_t{99} << 10;  // the least of all
  if (target.capability < 90) {
    target.threads = 108;
    target.copy_bytes_per_second = 1.7e12;
    target.flops_per_second = 19e12;
  }
  return target;
}

// What the system says of the data cache of one core at a level ("48K"); what it does not say stays. Not
// sysconf: under a hypervisor that answers with the cache of the whole processor.
void read_cache_size(const std::string& level, int64_t& bytes) {
  for (int index = 0; index < 8; ++index) {
    std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    auto word = [&](const char* file) {
      std::string text;
      std::ifstream(folder + file) >> text;
      return text;
    };
    if (word("level") != level || word("type") == "Instruction") continue;
    std::string size = word("size");
    int64_t number = std::atoll(size.c_str());
    if (number > 0) bytes = number << (size.back() == 'K' ? 10 : size.back() == 'M' ? 20 : 0);
  }
}

}  // namespace

std::optional<Target> find_target(std::string_view name) {
  if (name == "cpu.avx512") return cpu("cpu.avx512", 16, 32);
  if (name == "cpu.avx2") return cpu("cpu.avx2", 8, 16);
  if (name == "cpu.neon") return cpu("cpu.neon", 4, 32);
  if (name == "cpu.generic") return cpu("cpu.generic", 4, 16);
  if (name == "cuda.h200") return h200();
  if (name == "metal.m1") return m1();
  return gpu_of_capability(name);
}

std::vector<std::string_view> target_names() {
  return {
      "cpu.avx512",
      "cpu.avx2",
      "cpu.neon",
      "cpu.generic",
      "cuda.h200",
      "cuda.sm_80",
      "cuda.sm_90",
      "cuda.sm_100",
      "metal.m1"};
}

Target default_cpu_target() {
  std::string name = "cpu.generic";
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) name = "cpu.avx2";
  if (__builtin_cpu_supports("avx512f")) name = "cpu.avx512";
#elif defined(__aarch64__)
  name = "cpu.neon";
#endif
  Target target = *find_target(name);
  target.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  target.flops_per_second = 8e9 * target.lanes * target.threads;
  read_cache_size("1", target.l1_bytes);
  read_cache_size("2", target.l2_bytes);
  read_cache_size("3", target.l3_bytes);
  return target;
}

}  // namespace autoperfect

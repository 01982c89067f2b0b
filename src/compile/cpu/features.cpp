#include "compile/cpu/compile.h"

// What -march=native lets the compiler use: asked of the processor at run time, because an entry of the cache
// may come from another machine.

namespace autoperfect {
namespace {

#if defined(__x86_64__)
std::string find_features() {
  __builtin_cpu_init();
  std::string found;
  auto add = [&found](bool has, const char* feature) {
    if (has) found += (found.empty() ? "" : " ") + std::string(feature);
  };
#define FEATURE(text) add(__builtin_cpu_supports(text), text)
  FEATURE("avx512f");
  FEATURE("avx512bw");
  FEATURE("avx512dq");
  FEATURE("avx512vl");
  FEATURE("avx512cd");
  FEATURE("avx512ifma");
  FEATURE("avx512vbmi");
  FEATURE("avx512vbmi2");
  FEATURE("avx512vnni");
  FEATURE("avx512bitalg");
  FEATURE("avx512vpopcntdq");
  FEATURE("avx512bf16");
  FEATURE("avx2");
  FEATURE("avx");
  FEATURE("fma");
  FEATURE("bmi");
  FEATURE("bmi2");
  FEATURE("popcnt");
  FEATURE("sse4.2");
#undef FEATURE
  return found;
}
#elif defined(__aarch64__)
std::string find_features() {
  return "neon";
}
#else
std::string find_features() {
  return "generic";
}
#endif

}  // namespace

std::string cpu_features() {
  static const std::string features = find_features();
  return features;
}

int cpu_lanes() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return 16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
  return 4;
}

}  // namespace autoperfect

#include "tune/probes.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "compile/cpu/compile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace autoperfect {
namespace {

// Many short rounds for a fixed time: a round that fits between two interruptions shows what the machine can
// do.
constexpr double probe_seconds = 0.06;
constexpr int least_rounds = 5;
constexpr int chains = 12;  // an FMA takes 4 cycles on 2 ports, or 5 on 2

template <class Work>
double best_seconds(Work work) {
  using Clock = std::chrono::steady_clock;
  auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double best = 1e30;
  auto begin = Clock::now();
  for (int round = 0; round < least_rounds || seconds_since(begin) < probe_seconds; ++round) {
    auto start = Clock::now();
    work();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// `steps` FMAs on each chain; returns the lanes of a vector. `sink` keeps the work from being dropped.
using FmaLoop = int (*)(int64_t steps, float* sink);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) int fma_avx512(int64_t steps, float* sink) {
  __m512 sums[chains];
  for (auto& sum : sums)
    sum = _mm512_set1_ps(1.0f);
  const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm512_fmadd_ps(sums[c], factor, term);
  }
  for (auto& sum : sums)
    *sink += _mm512_reduce_add_ps(sum);
  return 16;
}

__attribute__((target("avx2,fma"))) int fma_avx2(int64_t steps, float* sink) {
  __m256 sums[chains];
  for (auto& sum : sums)
    sum = _mm256_set1_ps(1.0f);
  const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm256_fmadd_ps(sums[c], factor, term);
  }
  for (auto& sum : sums)
    *sink += _mm256_cvtss_f32(sum);
  return 8;
}

// Streaming stores: the lines written are not read first.
void copy_part(char* to, const char* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) {
    for (int part = 0; part < 64; part += 16)
      _mm_stream_si128(
          reinterpret_cast<__m128i*>(to + i + part),
          _mm_load_si128(reinterpret_cast<const __m128i*>(from + i + part)));
  }
  _mm_sfence();
}
#else
void copy_part(char* to, const char* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}
#endif

#if defined(__aarch64__)
int fma_portable(int64_t steps, float* sink) {
  float32x4_t sums[chains];
  for (auto& sum : sums)
    sum = vdupq_n_f32(1.0f);
  const float32x4_t factor = vdupq_n_f32(0.999f), term = vdupq_n_f32(0.001f);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c)
      sums[c] = vfmaq_f32(term, sums[c], factor);
  }
  for (auto& sum : sums)
    *sink += vaddvq_f32(sum);
  return 4;
}
#else
int fma_portable(int64_t steps, float* sink) {
  using Vector = float __attribute__((vector_size(16)));
  Vector sums[chains];
  for (auto& sum : sums)
    sum = Vector{1, 1, 1, 1};
  const Vector factor = {0.999f, 0.999f, 0.999f, 0.999f}, term = {0.001f, 0.001f, 0.001f, 0.001f};
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c)
      sums[c] = sums[c] * factor + term;
  }
  for (auto& sum : sums)
    *sink += sum[0];
  return 4;
}
#endif

FmaLoop fma_loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return fma_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma_avx2;
#endif
  return fma_portable;
}

struct Mapped {
  explicit Mapped(int64_t bytes) : size(static_cast<size_t>(bytes)) {
    data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
  }
  ~Mapped() {
    if (data) munmap(data, size);
  }
  Mapped(const Mapped&) = delete;
  char* bytes() const { return static_cast<char*>(data); }
  size_t size;
  void* data;
};

}  // namespace

double probe_flops_per_second(int threads) {
  constexpr int64_t steps = 20'000;
  FmaLoop loop = fma_loop();
  std::vector<float> sinks(static_cast<size_t>(threads) * 16, 0.0f);
  int lanes = 1;
  double seconds = best_seconds([&] {
    parallel_for(threads, threads, [&](int64_t chunk, int) {
      int width = loop(steps, &sinks[static_cast<size_t>(chunk) * 16]);
      if (chunk == 0) lanes = width;
    });
  });
  return 2.0 * lanes * chains * steps * threads / seconds;
}

// Round by round another window, so that none is still in a cache.
double probe_copy_bytes_per_second(int64_t bytes, int threads) {
  constexpr int64_t part = int64_t{512} << 10, windows = 8;
  int64_t window = std::max(part, bytes / windows / part * part);
  Mapped from(window * windows), to(window * windows);
  if (!from.data || !to.data) return 0;
  int64_t at = 0;
  double seconds = best_seconds([&] {
    parallel_for(window / part, threads, [&](int64_t chunk, int) {
      int64_t place = at * window + chunk * part;
      copy_part(to.bytes() + place, from.bytes() + place, part);
    });
    at = (at + 1) % windows;
  });
  return 2.0 * static_cast<double>(window) / seconds;
}

double probe_launch_seconds(int threads) {
  constexpr int launches = 50;
  return best_seconds([&] {
           for (int i = 0; i < launches; ++i)
             parallel_for(threads, threads, [](int64_t, int) {});
         }) /
         launches;
}

}  // namespace autoperfect

#include "compile/cpu/launch.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "compile/cpu/compile.h"

namespace autoperfect {
namespace {

constexpr int64_t chunks_per_thread = 4;  // evens out cores that are slow or busy
constexpr int64_t most_partials = 64;

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t round_up(int64_t a, int64_t multiple) {
  return divide_up(a, multiple) * multiple;
}

// Memory that is kept between launches: one grows-only block a thread.
class ReusedBuffer {
 public:
  void* at_least(int64_t bytes) {
    if (bytes <= 0) return nullptr;
    if (bytes > size_) {
      size_ = round_up(bytes, 4096);
      data_.reset(static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(size_))));
      if (!data_) {
        size_ = 0;
        throw std::bad_alloc();
      }
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
  int64_t size_ = 0;
};

thread_local ReusedBuffer scratch_buffer;
thread_local ReusedBuffer partial_buffer;  // of the thread that launches

struct Invocation {
  const LoadedKernel& kernel;
  const void* const* in;
  void* const* out;
  const long* dims;
  int64_t units;
  ChunkPlan plan;
  char* partials;
  int64_t stride;

  void run(int64_t chunk) const {
    long begin = chunk * plan.size;
    long end = std::min(units, begin + plan.size);
    void* scratch = scratch_buffer.at_least(kernel.launch.scratch_bytes);
    kernel.kernel(in, out, scratch, partials ? partials + chunk * stride : nullptr, dims, begin, end);
  }
};

}  // namespace

int64_t partial_stride(const Launch& launch) {
  return round_up(launch.partial_bytes, 64);
}

ChunkPlan plan_chunks(const Launch& launch, int64_t units, int threads) {
  bool partials = launch.partial_bytes > 0;
  if (units <= 0) return {partials ? 1 : 0, 0};
  int64_t most = partials ? most_partials : threads <= 1 ? 1 : threads * chunks_per_thread;
  int64_t align = std::max<int64_t>(1, launch.align);
  int64_t size = round_up(std::max({launch.grain, divide_up(units, most), int64_t{1}}), align);
  return {divide_up(units, size), size};
}

void launch_cpu(
    const LoadedKernel& kernel,
    const void* const* in,
    void* const* out,
    const long* dims,
    int64_t units,
    int threads) {
  ChunkPlan plan = plan_chunks(kernel.launch, units, threads > 0 ? threads : pool_threads());
  int64_t stride = partial_stride(kernel.launch);
  auto* partials = static_cast<char*>(partial_buffer.at_least(stride * plan.chunks));
  Invocation invocation{kernel, in, out, dims, units, plan, partials, stride};
  if (plan.chunks == 1 || threads == 1) {
    for (int64_t chunk = 0; chunk < plan.chunks; ++chunk)
      invocation.run(chunk);
  } else {
    parallel_for(plan.chunks, threads, [&](int64_t chunk, int) { invocation.run(chunk); });
  }
  if (partials) kernel.finish(in, out, partials, plan.chunks, dims);
}

}  // namespace autoperfect

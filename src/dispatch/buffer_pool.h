// Memory for results: aligned to a cache line, reused between calls, so that a large result does not pay for
// page faults each time. Laid out so that MLX takes it for a buffer of its own CPU allocator.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mlx/allocator.h"

namespace autoperfect {

class BufferPool {
 public:
  explicit BufferPool(size_t keep_bytes = size_t{512} << 20) : keep_bytes_(keep_bytes) {}
  ~BufferPool() { trim(0); }
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // One for the process, never destroyed: MLX may release arrays at exit.
  static BufferPool& shared();

  // 64-byte aligned; throws std::bad_alloc.
  void* acquire(size_t bytes);
  void release(void* data);

  size_t kept_bytes() const;
  void trim(size_t keep_bytes);  // frees what was not used for longest

 private:
  using Free = std::list<char*>;  // bases; least recently released first
  void trim_locked(size_t keep_bytes);

  mutable std::mutex mutex_;
  size_t keep_bytes_;
  size_t kept_ = 0;
  Free free_;
  std::unordered_map<size_t, std::vector<Free::iterator>> by_capacity_;
};

// A buffer of the shared pool that goes back by itself.
struct ReleaseToPool {
  void operator()(void* data) const { BufferPool::shared().release(data); }
};
using PooledBuffer = std::unique_ptr<void, ReleaseToPool>;
inline PooledBuffer pooled_buffer(size_t bytes) {
  return PooledBuffer(BufferPool::shared().acquire(bytes));
}

// Whether results can live in the pool: with MLX's CPU allocator they can, with those of its GPU builds they
// cannot.
bool results_are_pooled();

// A result buffer as MLX wants it: from the pool, or from MLX's allocator when it is small.
mlx::core::allocator::Data allocate_result(size_t bytes);

}  // namespace autoperfect

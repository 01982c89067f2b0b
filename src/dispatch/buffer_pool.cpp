#include "dispatch/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace autoperfect {

namespace {

// A block: capacity (8 bytes) ... size as MLX's allocator keeps it (the 8 bytes before the data), then the
// data.
constexpr size_t header = 64;
constexpr size_t mlx_size = sizeof(size_t);
constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t huge_threshold = size_t{4} << 20;
constexpr size_t small_result = size_t{16} << 10;

size_t& capacity_of(char* base) {
  return *reinterpret_cast<size_t*>(base);
}

// Four classes per power of two: at most a quarter is wasted, and sizes that drift share blocks.
size_t size_class(size_t bytes) {
  size_t step = std::max<size_t>(std::bit_floor(bytes) / 4, 4096);
  if (bytes >= huge_threshold) step = std::max(step, huge_page);
  return (bytes + step - 1) / step * step;
}

char* allocate_block(size_t capacity) {
  bool huge = capacity >= huge_threshold;
  auto* base = static_cast<char*>(std::aligned_alloc(huge ? huge_page : header, capacity));
  if (!base) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (huge) madvise(base, capacity, MADV_HUGEPAGE);  // advice: it may be refused
#endif
  capacity_of(base) = capacity;
  return base;
}

}  // namespace

BufferPool& BufferPool::shared() {
  static auto* pool = new BufferPool();
  return *pool;
}

void* BufferPool::acquire(size_t bytes) {
  size_t capacity = size_class(bytes + header);
  char* base = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto found = by_capacity_.find(capacity);
    if (found != by_capacity_.end() && !found->second.empty()) {
      auto block = found->second.back();  // the most recent one: still in the caches
      found->second.pop_back();
      base = *block;
      free_.erase(block);
      kept_ -= capacity;
    }
  }
  if (!base) base = allocate_block(capacity);
  *reinterpret_cast<size_t*>(base + header - mlx_size) = bytes;
  return base + header;
}

void BufferPool::release(void* data) {
  auto* base = static_cast<char*>(data) - header;
  std::lock_guard lock(mutex_);
  auto capacity = capacity_of(base);
  if (capacity > keep_bytes_) {
    std::free(base);
    return;
  }
  by_capacity_[capacity].push_back(free_.insert(free_.end(), base));
  kept_ += capacity;
  trim_locked(keep_bytes_);
}

size_t BufferPool::kept_bytes() const {
  std::lock_guard lock(mutex_);
  return kept_;
}

void BufferPool::trim(size_t keep_bytes) {
  std::lock_guard lock(mutex_);
  trim_locked(keep_bytes);
}

void BufferPool::trim_locked(size_t keep_bytes) {
  while (kept_ > keep_bytes) {
    auto* base = free_.front();
    auto capacity = capacity_of(base);
    auto& blocks = by_capacity_[capacity];
    blocks.erase(blocks.begin());  // released first of all, so first of its size
    free_.pop_front();
    kept_ -= capacity;
    std::free(base);
  }
}

namespace {

// MLX's CPU allocator hands out the address of the size, right before the data. Those of its GPU builds hand
// out objects of their own, which no buffer of ours can stand for.
bool has_cpu_layout() {
  auto probe = mlx::core::allocator::malloc(64);
  auto buffer = probe.buffer();
  return buffer.raw_ptr() == static_cast<char*>(buffer.ptr()) + mlx_size;
}

}  // namespace

bool results_are_pooled() {
  static const bool pooled = has_cpu_layout();
  return pooled;
}

mlx::core::allocator::Data allocate_result(size_t bytes) {
  namespace allocator = mlx::core::allocator;
  if (!results_are_pooled() || bytes < small_result) return allocator::malloc(bytes);
  auto* data = static_cast<char*>(BufferPool::shared().acquire(bytes));
  // MLX's CPU buffer points at the size, and its data follows.
  return allocator::Data(allocator::Buffer(data - mlx_size), [](allocator::Buffer buffer) {
    BufferPool::shared().release(static_cast<char*>(buffer.ptr()) + mlx_size);
  });
}

}  // namespace autoperfect

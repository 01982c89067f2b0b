#include "compile/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "compile/cpu/compile.h"

namespace autoperfect {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto spin_time = std::chrono::microseconds(30);

std::atomic<ThreadPool*> current{nullptr};

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True as soon as `ready` is, false after the spin time.
template <class Ready>
bool spin_until(Ready ready) {
  if (ready()) return true;
  auto end = Clock::now() + spin_time;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (Clock::now() < end);
  return false;
}

}  // namespace

ThreadPool& ThreadPool::instance() {
  ThreadPool* pool = current.load(std::memory_order_acquire);
  if (pool) return *pool;
  // The child of a fork has none of the threads: it forgets the pool (and leaks it) and starts anew.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
  (void)registered;
  auto* fresh = new ThreadPool(pool_threads() - 1);
  if (current.compare_exchange_strong(pool, fresh)) return *fresh;
  delete fresh;  // another thread was faster; this one has no workers yet
  return *pool;
}

int ThreadPool::available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Workers block all signals: those are the user's, and go to the user's threads.
void ThreadPool::start_workers() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  workers_ = 0;
  try {
    for (; workers_ < wanted_; ++workers_)
      std::thread([this] { work(); }).detach();
  } catch (const std::system_error&) {
    // No more threads to be had: fewer will do.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::run(int64_t chunks, int helpers, const ChunkBody& body) {
  if (helpers < 1 || chunks < 2 || busy_.test_and_set(std::memory_order_acquire)) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      body(chunk, 0);
    return;
  }
  if (workers_ < 0) start_workers();
  int tickets = static_cast<int>(std::min<int64_t>({helpers, workers_, chunks - 1}));
  body_ = &body;
  chunks_ = chunks;
  next_.store(0, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  tickets_.store(tickets, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();

  run_chunks(0);
  int begun = tickets - tickets_.exchange(0, std::memory_order_acq_rel);
  auto all_finished = [&] { return finished_.load(std::memory_order_acquire) == begun; };
  if (!spin_until(all_finished)) {
    for (int seen; (seen = finished_.load(std::memory_order_acquire)) != begun;)
      finished_.wait(seen);
  }
  auto failure = std::exchange(failure_, nullptr);
  has_failed_.clear(std::memory_order_relaxed);
  busy_.clear(std::memory_order_release);
  if (failure) std::rethrow_exception(failure);
}

void ThreadPool::fail(std::exception_ptr failure) {
  if (!has_failed_.test_and_set(std::memory_order_relaxed)) failure_ = std::move(failure);
  next_.store(chunks_, std::memory_order_relaxed);
}

void ThreadPool::run_chunks(int thread) {
  for (;;) {
    int64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks_) return;
    try {
      (*body_)(chunk, thread);
    } catch (...) {
      return fail(std::current_exception());
    }
  }
}

bool ThreadPool::take_ticket(int& thread) {
  int left = tickets_.load(std::memory_order_acquire);
  while (left > 0) {
    if (tickets_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) {
      thread = left;  // 1 .. tickets; the caller is 0
      return true;
    }
  }
  return false;
}

int ThreadPool::wait_for_job(int seen) {
  spin_until([&] { return generation_.load(std::memory_order_acquire) != seen; });
  for (int now; (now = generation_.load(std::memory_order_acquire)) == seen;)
    generation_.wait(seen);
  return generation_.load(std::memory_order_acquire);
}

void ThreadPool::work() {
  for (int seen = 0;;) {
    seen = wait_for_job(seen);
    int thread;
    if (!take_ticket(thread)) continue;
    run_chunks(thread);
    finished_.fetch_add(1, std::memory_order_release);
    finished_.notify_one();
  }
}

int pool_threads() {
  static const int threads = ThreadPool::available_cores();
  return threads;
}

void parallel_for(int64_t chunks, int threads, const std::function<void(int64_t chunk, int thread)>& body) {
  int limit = threads > 0 ? std::min(threads, pool_threads()) : pool_threads();
  ThreadPool::instance().run(chunks, limit - 1, body);
}

}  // namespace autoperfect

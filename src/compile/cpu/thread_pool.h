// The threads kernels run on. One job at a time; a caller that finds the pool busy does its work alone
// instead of waiting. Made for jobs of microseconds: idle workers spin briefly before they sleep, and a
// caller never waits for a worker that has not begun.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>

namespace autoperfect {

using ChunkBody = std::function<void(int64_t chunk, int thread)>;

class ThreadPool {
 public:
  // The pool of this process; it is never destroyed, so kernels may run during static destruction. After fork
  // the child makes its own.
  static ThreadPool& instance();
  static int available_cores();  // by the affinity of the process, not by what the machine has

  // Workers start with the first job, and never end: a pool must not be destroyed after that.
  explicit ThreadPool(int workers) : wanted_(workers) {}

  // At most `helpers` threads beside the caller, which takes part. What a chunk throws, on whichever thread,
  // the caller gets once all have stopped; chunks not begun by then are left out.
  void run(int64_t chunks, int helpers, const ChunkBody& body);

 private:
  void start_workers();
  void work();
  void help(int thread);
  void run_chunks(int thread);
  bool take_ticket(int& thread);
  int wait_for_job(int seen);
  void fail(std::exception_ptr failure);

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  int wanted_;
  int workers_ = -1;  // -1: not started yet; guarded by busy_

  // The job. Written by the caller before it hands out tickets; read only by the holder of a ticket. A ticket
  // not yet given back with `finished_` keeps the caller in run(), and so the job alive.
  const ChunkBody* body_ = nullptr;
  int64_t chunks_ = 0;
  std::exception_ptr failure_;  // the first; guarded by has_failed_ until all have finished
  std::atomic_flag has_failed_ = ATOMIC_FLAG_INIT;
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<int> tickets_{0};
  alignas(64) std::atomic<int> finished_{0};
  alignas(64) std::atomic<int> generation_{0};  // what sleeping workers wait on
};

}  // namespace autoperfect

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "compile/cpu/compile.h"
#include "compile/cpu/launch.h"
#include "compile/cpu/thread_pool.h"

namespace autoperfect {
namespace {

// --- chunk plans

TEST(PlanChunks, CoversAllUnitsWithAlignedChunksOfAtLeastTheGrain) {
  for (int64_t units : {1, 2, 7, 63, 64, 65, 1000, 4097, 1 << 20}) {
    for (int64_t grain : {1, 16, 100, 5000}) {
      for (int64_t align : {1, 4, 16}) {
        for (int threads : {1, 2, 64}) {
          Launch launch;
          launch.grain = grain;
          launch.align = align;
          auto plan = plan_chunks(launch, units, threads);
          EXPECT_GE(plan.chunks * plan.size, units);
          EXPECT_LT((plan.chunks - 1) * plan.size, units);
          EXPECT_GE(plan.size, grain);
          EXPECT_EQ(plan.size % align, 0);
          EXPECT_LE(plan.chunks, threads == 1 ? 1 : threads * 4);
        }
      }
    }
  }
}

TEST(PlanChunks, WithPartialsTheNumberOfThreadsDoesNotMatter) {
  Launch launch;
  launch.grain = 10;
  launch.partial_bytes = 4;
  for (int64_t units : {1, 9, 100, 12345}) {
    auto one = plan_chunks(launch, units, 1), many = plan_chunks(launch, units, 64);
    EXPECT_EQ(one.chunks, many.chunks);
    EXPECT_EQ(one.size, many.size);
    EXPECT_LE(one.chunks, 64);
  }
}

TEST(PlanChunks, NothingToDo) {
  Launch launch;
  EXPECT_EQ(plan_chunks(launch, 0, 4).chunks, 0);
  launch.partial_bytes = 4;
  EXPECT_EQ(plan_chunks(launch, 0, 4).chunks, 1);
}

// --- launches, with functions of this program in place of loaded ones

std::mutex seen_mutex;
std::vector<std::pair<long, long>> seen;
std::set<void*> scratches;

LoadedKernel recording_kernel(int64_t scratch) {
  seen.clear();
  scratches.clear();
  LoadedKernel kernel;
  kernel.launch.scratch_bytes = scratch;
  kernel.kernel =
      [](const void* const*, void* const*, void* scratch, void*, const long*, long begin, long end) {
        std::lock_guard lock(seen_mutex);
        seen.emplace_back(begin, end);
        scratches.insert(scratch);
      };
  return kernel;
}

TEST(LaunchCpu, EveryUnitExactlyOnce) {
  auto kernel = recording_kernel(100);
  kernel.launch.align = 8;
  launch_cpu(kernel, nullptr, nullptr, nullptr, 1003);
  std::sort(seen.begin(), seen.end());
  long next = 0;
  for (auto [begin, end] : seen) {
    EXPECT_EQ(begin, next);
    EXPECT_EQ(begin % 8, 0);
    next = end;
  }
  EXPECT_EQ(next, 1003);
  for (void* scratch : scratches)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0u);
  EXPECT_LE(scratches.size(), static_cast<size_t>(pool_threads()));
}

TEST(LaunchCpu, NoUnitsNoCall) {
  auto kernel = recording_kernel(0);
  launch_cpu(kernel, nullptr, nullptr, nullptr, 0);
  EXPECT_TRUE(seen.empty());
}

LoadedKernel summing_kernel() {
  LoadedKernel kernel;
  kernel.launch.partial_bytes = 8;
  kernel.launch.grain = 10;
  kernel.kernel =
      [](const void* const* in, void* const*, void*, void* partial, const long*, long begin, long end) {
        double sum = 0;
        for (long i = begin; i < end; ++i)
          sum += static_cast<const double*>(in[0])[i];
        *static_cast<double*>(partial) = sum;
      };
  kernel.finish = [](const void* const*, void* const* out, const void* partials, long chunks, const long*) {
    double sum = 0;
    for (long c = 0; c < chunks; ++c) {
      sum += *reinterpret_cast<const double*>(static_cast<const char*>(partials) + 64 * c);
    }
    *static_cast<double*>(out[0]) = sum;
  };
  return kernel;
}

TEST(LaunchCpu, PartialResultsAreCombinedTheSameForAnyNumberOfThreads) {
  auto kernel = summing_kernel();
  std::vector<double> x(10'007);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 1.0 / static_cast<double>(i + 1);
  const void* in[] = {x.data()};
  double one = 0, all = 0;
  void* out_one[] = {&one};
  void* out_all[] = {&all};
  launch_cpu(kernel, in, out_one, nullptr, 10'007, 1);
  launch_cpu(kernel, in, out_all, nullptr, 10'007, 0);
  EXPECT_EQ(one, all);
  EXPECT_NEAR(one, std::accumulate(x.begin(), x.end(), 0.0), 1e-12);
}

TEST(LaunchCpu, AReductionOverNothingIsItsIdentity) {
  auto kernel = summing_kernel();
  double result = -1;
  const void* in[] = {nullptr};
  void* out[] = {&result};
  launch_cpu(kernel, in, out, nullptr, 0);
  EXPECT_EQ(result, 0);
}

// --- the pool

TEST(ParallelFor, RunsEachChunkOnceWithValidThreadNumbers) {
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::vector<std::atomic<int>> counts(repeat % 17);
    std::atomic<bool> bad = false;
    parallel_for(static_cast<int64_t>(counts.size()), 0, [&](int64_t chunk, int thread) {
      counts[chunk].fetch_add(1);
      if (thread < 0 || thread >= pool_threads()) bad = true;
    });
    for (auto& count : counts)
      ASSERT_EQ(count, 1);
    ASSERT_FALSE(bad);
  }
}

// More workers than this machine may have cores.
TEST(ThreadPool, ManyWorkers) {
  auto* pool = new ThreadPool(7);  // never destroyed
  for (int repeat = 0; repeat < 3000; ++repeat) {
    int64_t chunks = repeat % 23;
    int helpers = repeat % 9;
    std::vector<std::atomic<int>> counts(static_cast<size_t>(chunks)), threads(8);
    std::atomic<bool> bad = false;
    pool->run(chunks, helpers, [&](int64_t chunk, int thread) {
      counts[static_cast<size_t>(chunk)].fetch_add(1);
      if (thread < 0 || thread > helpers || thread > 7) bad = true;
      // Thread numbers are unique within a job.
      if (threads[static_cast<size_t>(thread)].fetch_add(1) != 0) bad = true;
      if (repeat % 100 == 0) std::this_thread::yield();
      threads[static_cast<size_t>(thread)].fetch_sub(1);
    });
    for (auto& count : counts)
      ASSERT_EQ(count, 1);
    ASSERT_FALSE(bad);
    if (repeat % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // they fall asleep
  }
}

TEST(ThreadPool, TheCallerGetsWhatAChunkThrowsOnAnyThread) {
  auto* pool = new ThreadPool(3);  // never destroyed
  for (int64_t bad : {0, 1, 5, 63}) {
    std::atomic<int> ran{0};
    auto body = [&](int64_t chunk, int) {
      ++ran;
      if (chunk == bad) throw std::runtime_error("chunk " + std::to_string(chunk));
    };
    try {
      pool->run(64, 3, body);
      FAIL() << "chunk " << bad << " threw";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "chunk " + std::to_string(bad));
    }
    EXPECT_GE(ran, 1);
    ran = 0;
    pool->run(64, 3, [&](int64_t, int) { ++ran; });
    EXPECT_EQ(ran, 64) << "the next job runs whole";
  }
}

TEST(ThreadPool, EveryChunkMayThrow) {
  auto* pool = new ThreadPool(7);  // never destroyed
  for (int round = 0; round < 200; ++round) {
    EXPECT_THROW(
        pool->run(100, 7, [](int64_t, int) { throw std::runtime_error("all"); }), std::runtime_error);
  }
}

TEST(ParallelFor, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> total = 0;
  for (int t = 0; t < 8; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        parallel_for(9, 0, [&](int64_t chunk, int) { total += chunk; });
    });
  }
  for (auto& caller : callers)
    caller.join();
  EXPECT_EQ(total, 8 * 500 * 36);
}

TEST(ParallelFor, MayBeNested) {
  std::atomic<int> inner = 0;
  parallel_for(4, 0, [&](int64_t, int) { parallel_for(5, 0, [&](int64_t, int) { ++inner; }); });
  EXPECT_EQ(inner, 20);
}

TEST(ParallelFor, AfterSleepingWorkersWakeUp) {
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    std::atomic<int> count = 0;
    parallel_for(64, 0, [&](int64_t, int) { ++count; });
    ASSERT_EQ(count, 64);
  }
}

TEST(ParallelFor, UsesSeveralThreads) {
  if (pool_threads() < 2) GTEST_SKIP() << "one core";
  std::mutex mutex;
  std::set<std::thread::id> threads;
  // Each chunk waits for company, so one thread alone would need the whole patience of each.
  for (int attempt = 0; attempt < 50 && threads.size() < 2; ++attempt) {
    parallel_for(2, 0, [&](int64_t, int) {
      {
        std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
  }
  EXPECT_GE(threads.size(), 2u);
}

TEST(ParallelFor, WorksInTheChildOfAFork) {
  std::atomic<int> before = 0;
  parallel_for(100, 0, [&](int64_t, int) { ++before; });
  EXPECT_EQ(before, 100);
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    std::atomic<int> count = 0;
    std::set<std::thread::id> threads;
    for (int i = 0; i < 100; ++i)
      parallel_for(100, 0, [&](int64_t, int) { ++count; });
    _exit(count == 10'000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ParallelFor, OneChunkStaysOnTheCaller) {
  auto caller = std::this_thread::get_id();
  parallel_for(1, 0, [&](int64_t, int) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ParallelFor, CostsMicroseconds) {
  constexpr int repeats = 2000;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i)
    parallel_for(8, 0, [](int64_t, int) {});
  double each = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
  RecordProperty("microseconds", std::to_string(each * 1e6));
  EXPECT_LT(each, 200e-6);
  std::printf("parallel_for: %.2f us\n", each * 1e6);
}

}  // namespace
}  // namespace autoperfect

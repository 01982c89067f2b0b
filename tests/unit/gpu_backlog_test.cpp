#include "dispatch/gpu_backlog.h"

#include <gtest/gtest.h>

#include <vector>

namespace autoperfect {
namespace {

constexpr double us = 1e-6, speed = 4e12;
constexpr int64_t mib = int64_t{1} << 20;

// Which of 20 calls, collected every `each` from `from` on, start the GPU.
std::vector<int> starts(GpuBacklog& backlog, double from, double each, int64_t bytes) {
  std::vector<int> found;
  for (int call = 0; call < 20; ++call)
    if (backlog.add(from + call * each, bytes, speed)) found.push_back(call);
  return found;
}

TEST(GpuBacklog, much_work_starts_at_once_and_then_before_the_gpu_is_done) {
  GpuBacklog backlog;
  // 67 us of work a call: started by the first, again 42 us later, by then with 6 calls, 403 us.
  EXPECT_EQ(starts(backlog, 1, 7 * us, 256 * mib), (std::vector<int>{0, 6}));
}

TEST(GpuBacklog, small_work_is_left_to_mlx) {
  GpuBacklog backlog;
  EXPECT_EQ(starts(backlog, 1, 4 * us, mib), std::vector<int>{});
  EXPECT_EQ(starts(backlog, 1.001, 4 * us, 3 * mib), std::vector<int>{});
}

TEST(GpuBacklog, what_was_collected_before_a_pause_has_been_started) {
  GpuBacklog backlog;
  EXPECT_FALSE(backlog.add(1, 40 * mib, speed));
  EXPECT_FALSE(backlog.add(1.01, 40 * mib, speed));
  EXPECT_TRUE(backlog.add(1.01001, 40 * mib, speed));
}

}  // namespace
}  // namespace autoperfect

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

TEST(GpuBacklog, starts_become_rarer_and_are_the_same_in_every_evaluation) {
  GpuBacklog backlog;
  const std::vector<int> expected = {0, 1, 3, 7, 15};
  EXPECT_EQ(starts(backlog, 1, 7 * us, 256 * mib), expected);
  EXPECT_EQ(starts(backlog, 2, 40 * us, 256 * mib), expected);
}

TEST(GpuBacklog, small_work_is_left_to_mlx) {
  GpuBacklog backlog;
  EXPECT_EQ(starts(backlog, 1, 4 * us, 12 * mib), std::vector<int>{});
  EXPECT_EQ(starts(backlog, 2, 4 * us, 12 * mib), std::vector<int>{});
}

TEST(GpuBacklog, an_evaluation_that_waits_for_the_gpu_goes_on) {
  GpuBacklog backlog;
  EXPECT_EQ(starts(backlog, 1, 7 * us, 256 * mib).back(), 15);  // 1.3 ms of work
  EXPECT_FALSE(backlog.add(1 + 700 * us, 256 * mib, speed));
  EXPECT_TRUE(backlog.add(1 + 2000 * us, 256 * mib, speed));
}

}  // namespace
}  // namespace autoperfect

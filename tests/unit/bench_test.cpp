#include "bench/bench.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace autoperfect {
namespace {

// Time passes only when a contender says so.
struct FakeClock {
  double now = 100;
  BenchOptions options() {
    BenchOptions options;
    options.clock = [this] { return now; };
    return options;
  }
  Contender taking(const std::string& name, double seconds) {
    return {name, [this, seconds] { now += seconds; }};
  }
};

TEST(Bench, MedianAndQuartiles) {
  FakeClock clock;
  auto options = clock.options();
  options.warmup = 1;
  options.iterations = 5;
  options.max_seconds = 1000;
  int call = 0;
  const double durations[] = {99, 5, 1, 4, 2, 3};  // the first is the warm-up
  auto timings = bench({{"x", [&] { clock.now += durations[call++]; }}}, options);
  ASSERT_EQ(timings.size(), 1u);
  EXPECT_EQ(timings[0].iterations, 5);
  EXPECT_DOUBLE_EQ(timings[0].low, 2);
  EXPECT_DOUBLE_EQ(timings[0].median, 3);
  EXPECT_DOUBLE_EQ(timings[0].high, 4);
  EXPECT_FALSE(timings[0].failed);
}

TEST(Bench, WaitingBeforeTheRoundsTakesNoTimeFromThem) {
  FakeClock clock;
  auto options = clock.options();
  options.warmup = 1;
  options.iterations = 5;
  options.max_seconds = 10;
  int runs = 0, before = 0;
  options.before_rounds = [&] {
    before = runs;
    clock.now += 1000;
  };
  auto timings = bench(
      {{"x",
        [&] {
          ++runs;
          clock.now += 1;
        }}},
      options);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(timings[0].iterations, 5);
  EXPECT_DOUBLE_EQ(timings[0].high, 1);
}

TEST(Bench, TheOrderRotates) {
  FakeClock clock;
  auto options = clock.options();
  options.warmup = 1;
  options.iterations = 3;
  std::string order;
  bench({{"a", [&] { order += 'a'; }}, {"b", [&] { order += 'b'; }}, {"c", [&] { order += 'c'; }}}, options);
  EXPECT_EQ(
      order,
      "abc"
      "abc"
      "bca"
      "cab");
}

TEST(Bench, StopsEarlyButNeverBelowThreeRounds) {
  FakeClock clock;
  auto options = clock.options();
  options.iterations = 100;
  options.max_seconds = 2;
  EXPECT_EQ(bench({clock.taking("slow", 5)}, options)[0].iterations, 3);
  int iterations = bench({clock.taking("brief", 0.1)}, options)[0].iterations;
  EXPECT_GT(iterations, 3);
  EXPECT_LT(iterations, 100);
}

TEST(Bench, OneThatThrowsIsLeftOutAndTheOthersAreNot) {
  FakeClock clock;
  auto timings =
      bench({{"bad", [] { throw std::runtime_error("no"); }}, clock.taking("good", 1e-3)}, clock.options());
  EXPECT_TRUE(timings[0].failed);
  EXPECT_EQ(timings[0].name, "bad");
  EXPECT_FALSE(timings[1].failed);
  EXPECT_NEAR(timings[1].median, 1e-3, 1e-9);
}

TEST(Bench, NoContenders) {
  EXPECT_TRUE(bench({}, {}).empty());
}

TEST(Bench, TheMachinesClockWorks) {
  auto timings = bench({{"nothing", [] {}}}, {});
  EXPECT_EQ(timings[0].iterations, 15);
  EXPECT_GE(timings[0].median, 0);
  EXPECT_LT(timings[0].median, 0.1);
}

Timing timing(double low, double median, double high) {
  Timing t;
  t.low = low;
  t.median = median;
  t.high = high;
  t.iterations = 5;
  return t;
}

TEST(ClearlyFaster, NeedsTheMarginByMedianAndByLowerQuartile) {
  auto slow = timing(9, 10, 11);
  EXPECT_TRUE(clearly_faster(timing(7, 8, 8.5), slow, 0.03));
  EXPECT_FALSE(clearly_faster(slow, timing(7, 8, 8.5), 0.03));
  EXPECT_TRUE(clearly_faster(timing(7, 8, 20), slow, 0.03));      // a busy machine adds time, no more
  EXPECT_FALSE(clearly_faster(timing(8.9, 9, 9.1), slow, 0.03));  // no better at its best
  EXPECT_FALSE(clearly_faster(timing(7, 8, 8.5), slow, 0.25));    // not by enough
  EXPECT_FALSE(clearly_faster(slow, slow, 0));
}

TEST(ClearlyFaster, OneThatFailedNeverWins) {
  Timing failed;
  failed.failed = true;
  EXPECT_FALSE(clearly_faster(failed, timing(1, 1, 1), 0));
  EXPECT_TRUE(clearly_faster(timing(1, 1, 1), failed, 0));
}

}  // namespace
}  // namespace autoperfect

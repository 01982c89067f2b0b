// Who wins, by what was measured.
#include "tune/select.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace autoperfect {
namespace {

Timing timing(double median, double spread = 0.01) {
  return {"", median, median * (1 - spread), median * (1 + spread), 9};
}

TEST(Select, TheFastestWins) {
  EXPECT_EQ(best_of({{timing(3e-3), "a"}, {timing(1e-3), "much longer"}, {timing(2e-3), "b"}}), 1u);
}

TEST(Select, AmongEqualsTheShorterSourceWins) {
  EXPECT_EQ(best_of({{timing(1.00e-3), "longer"}, {timing(1.005e-3), "short"}}), 1u);
}

TEST(Select, ASignificantLeadBeatsASimplerSource) {
  EXPECT_EQ(best_of({{timing(1.00e-3), "longer"}, {timing(1.05e-3), "short"}}), 0u);
}

// Of equally fast and equally long sources one is chosen by its hash, wherever it stands.
TEST(Select, TheOrderOfCandidatesDoesNotMatter) {
  std::vector<Score> scores = {{timing(1e-3), "aa"}, {timing(1e-3), "bb"}, {timing(1e-3), "cc"}};
  auto source = scores[*best_of(scores)].source;
  std::reverse(scores.begin(), scores.end());
  EXPECT_EQ(scores[*best_of(scores)].source, source);
}

TEST(Select, WhatCouldNotBeTimedNeverWins) {
  Timing failed;
  failed.failed = true;
  EXPECT_EQ(best_of({{failed, "a"}, {timing(1), "b"}}), 1u);
  EXPECT_EQ(best_of({{failed, "a"}}), std::nullopt);
}

TEST(Select, EveryBaselineMustBeBeatenByTheMargin) {
  EXPECT_TRUE(beats_all(timing(1e-3), {timing(2e-3), timing(1.2e-3)}, 0.03));
  EXPECT_FALSE(beats_all(timing(1e-3), {timing(2e-3), timing(1.01e-3)}, 0.03));
}

}  // namespace
}  // namespace autoperfect

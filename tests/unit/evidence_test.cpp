// What is kept of a decision is read back as it was.
#include "tune/evidence.h"

#include <gtest/gtest.h>

namespace autoperfect {
namespace {

TEST(Evidence, TimesAreReadBack) {
  Timing kernel{"schedule: rows", 3e-5, 2e-5, 4e-5, 9, false, {}, {1e-5, 1.5e-5}};
  Timing eager{"eager", 6e-5, 5e-5, 7e-5, 9};
  Timing failed;
  failed.failed = true;
  Decision decision;
  decision.evidence = evidence_text("faster", {kernel, failed, eager});
  read_evidence(decision);
  EXPECT_EQ(decision.reason, "faster");
  ASSERT_EQ(decision.timings.size(), 2u) << "what failed has no time";
  EXPECT_EQ(decision.timings[0].name, kernel.name);
  EXPECT_EQ(decision.timings[0].median, kernel.median);
  EXPECT_EQ(decision.timings[0].low, kernel.low);
  EXPECT_EQ(decision.timings[0].high, kernel.high);
  EXPECT_EQ(decision.timings[0].on_device, (DeviceTimes{1e-5, 1.5e-5}));
  EXPECT_EQ(decision.timings[1].on_device, DeviceTimes{});
}

TEST(Evidence, WhatIsDamagedIsLeftOut) {
  Decision decision;
  decision.evidence = "{\"timings\": [{\"name\": ";
  read_evidence(decision);
  EXPECT_TRUE(decision.timings.empty());
}

}  // namespace
}  // namespace autoperfect

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/options.h"

namespace autoperfect {
namespace {

TEST(Options, ListEveryVariableOnce) {
  std::vector<std::string> names;
  for (const auto& row : environment_rows()) {
    names.push_back(row.name);
    EXPECT_FALSE(row.meaning.empty());
  }
  EXPECT_EQ(
      names,
      (std::vector<std::string>{
          "AUTOPERFECT_LOG",
          "AUTOPERFECT_DUMP",
          "AUTOPERFECT_CACHE",
          "AUTOPERFECT_CACHE_DIR",
          "AUTOPERFECT_MODEL",
          "AUTOPERFECT_MODEL_KEY",
          "AUTOPERFECT_ISOLATION"}));
}

TEST(Options, WarnOnceAKey) {
  if (environment().log == "off") GTEST_SKIP() << "AUTOPERFECT_LOG=off: nothing is written";
  testing::internal::CaptureStderr();
  warn_once("options-test", "first");
  warn_once("options-test", "second");
  warn_once("options-test-other", "third");
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(), "autoperfect: warning: first\nautoperfect: warning: third\n");
}

}  // namespace
}  // namespace autoperfect

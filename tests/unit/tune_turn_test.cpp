#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tune/turn.h"

namespace autoperfect {
namespace {

TEST(TimingTurn, OneAtATime) {
  std::string directory = testing::TempDir() + "timing_turn";
  std::filesystem::create_directories(directory);
  auto first = std::make_unique<TimingTurn>(directory, 1);
  EXPECT_TRUE(first->alone());
  EXPECT_FALSE(TimingTurn(directory, 0.01).alone());
  first.reset();
  EXPECT_TRUE(TimingTurn(directory, 0).alone());
}

TEST(TimingTurn, WithoutAFileNobodyWaits) {
  EXPECT_FALSE(TimingTurn("", 60).alone());
  EXPECT_FALSE(TimingTurn("/nonexistent", 60).alone());
}

}  // namespace
}  // namespace autoperfect

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "support/number.h"

namespace autoperfect {
namespace {

TEST(Number, SpellsEveryDoubleAsAFloatingPointNumber) {
  EXPECT_EQ(format_number(1), "1.0");
  EXPECT_EQ(format_number(-0.0), "-0.0");
  EXPECT_EQ(format_number(0.1), "0.1");
  EXPECT_EQ(format_number(0.0009765625), "0.0009765625");
  EXPECT_EQ(format_number(1e300), "1e+300");
  EXPECT_EQ(format_number(1e-6), "1e-06");
  EXPECT_EQ(format_number(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(format_number(INFINITY), "inf");
  EXPECT_EQ(format_number(-INFINITY), "-inf");
  EXPECT_EQ(format_number(-std::nan("")), "nan");
}

TEST(Number, SpellsFloatsWithTheirOwnShortestDigits) {
  EXPECT_EQ(format_single(0.1f), "0.1");
  EXPECT_EQ(format_single(16777216.0f), "16777216.0");
  EXPECT_EQ(format_single(std::numeric_limits<float>::denorm_min()), "1e-45");
}

TEST(Number, ReadsBackTheSameBits) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    auto value = std::bit_cast<double>(random());
    if (std::isnan(value)) continue;
    auto read = parse_number(format_number(value));
    ASSERT_TRUE(read) << format_number(value);
    ASSERT_EQ(std::bit_cast<uint64_t>(*read), std::bit_cast<uint64_t>(value)) << format_number(value);
  }
  EXPECT_TRUE(std::isnan(*parse_number("nan")));
  EXPECT_TRUE(std::signbit(*parse_number("-0.0")));
}

TEST(Number, RefusesOtherSpellings) {
  for (auto* text :
       {"", "1e999", "1e-999", "infinity", "-nan", "nan(1)", "0x10", "1.0f", " 1", "1 ", "+1", "--1"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

TEST(Number, ReadsPythonFloatsBeyondTheRangeOfDouble) {
  EXPECT_EQ(parse_python_float("1e999"), INFINITY);
  EXPECT_EQ(parse_python_float("-1e999"), -INFINITY);
  EXPECT_EQ(parse_python_float("1e99999"), INFINITY);
  EXPECT_EQ(parse_python_float("-1e-999"), 0.0);
  EXPECT_TRUE(std::signbit(*parse_python_float("-1e-99999")));
  EXPECT_EQ(parse_python_float("0." + std::string(400, '0') + "1e401"), 1.0);
  EXPECT_EQ(parse_python_float("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(parse_python_float("2.5"), 2.5);
  EXPECT_FALSE(parse_python_float("2.5f"));
  EXPECT_FALSE(parse_python_float(""));
}

}  // namespace
}  // namespace autoperfect

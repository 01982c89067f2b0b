#include <fmt/format.h>

#include "gate_kernels.h"

namespace autoperfect {
namespace {

TEST(ErrorBounds, CancellationKeepsTheErrorOfItsTerms) {
  auto bounds = bounds_of(shifted(2), {1.0 / 3, 1000});
  EXPECT_NEAR(bounds[0], 0x1p-24, 0x1p-30);  // half an ulp of 1, though the result is 0
  EXPECT_NEAR(bounds[1], (3000 + 2999) * 0x1p-24, 1e-6);
}

TEST(ErrorBounds, CastsThatAreUndefinedMayGiveAnything) {
  auto cast = [](const std::string& dtype) {
    return parsed(
        "    in %x: f32[5] row\n    out %y: " + dtype + "[5] row\n",
        "    axes i=5\n    %y[i] = cast %x[i] : " + dtype + "\n");
  };
  const std::vector<double> x = {1.5, -1.5, nan_value, 3e9, 300};
  EXPECT_EQ(bounds_of(cast("i32"), x), (std::vector<double>{0, 0, infinity, infinity, 0}));
  EXPECT_EQ(bounds_of(cast("u32"), x), (std::vector<double>{0, infinity, infinity, 0, 0}));
  EXPECT_EQ(bounds_of(cast("u8"), x), (std::vector<double>{0, infinity, infinity, infinity, infinity}));
}

TEST(ErrorBounds, AProductThatMayLeaveTheRangeOnTheWayMayBeAnything) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[1] row\n", "    axes i=4\n    %y[0] = prod(i) %x[i] : f32\n");
  EXPECT_EQ(bounds_of(kernel, {1e30, 1e30, 1e-30, 1e-30})[0], infinity);
  EXPECT_EQ(bounds_of(kernel, {1, 1e-30, 1e-30, 1})[0], infinity);
  EXPECT_LT(bounds_of(kernel, {1e30, 0, infinity, 2})[0], 1e-6);
  EXPECT_LT(bounds_of(kernel, {0, 1, 2, 0.5})[0], 1e-6);
}

TEST(ErrorBounds, ASumThatMayLeaveTheRangeOnTheWayMayBeAnything) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[1] row\n", "    axes i=4\n    %y[0] = sum(i) %x[i] : f32\n");
  EXPECT_EQ(bounds_of(kernel, {3e38, -3e38, 3e38, -3e38})[0], infinity);
  EXPECT_EQ(bounds_of(kernel, {1, -3e38, 0, -3e38})[0], infinity);
  EXPECT_LT(bounds_of(kernel, {3e38, -3e38, 0, 0})[0], 1e33);  // no order leaves the range
  EXPECT_LT(bounds_of(kernel, {infinity, 1, 2, 3})[0], 1e-5);
  EXPECT_FALSE(bounds_of(kernel, {infinity, -infinity, 2, nan_value})[0] > 1e-5);
}

TEST(ErrorBounds, WhatDependsOnASumOutOfRangeMayBeAnything) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[1] row\n",
      "    axes i=4\n    %t[] = sum(i) %x[i] : f32\n    %big[] = equal %t[], inf : bool\n"
      "    %y[0] = select %big[], 3.4028234663852886e+38, %t[] : f32\n");
  EXPECT_EQ(bounds_of(kernel, {3e38, -3e38, 3e38, -3e38})[0], infinity);
  EXPECT_LT(bounds_of(kernel, {infinity, 1, 1, 1})[0], 1e-5);
}

TEST(ErrorBounds, AScanThatLeftTheRangeDoesNotComeBack) {
  auto kernel = parsed(
      "    in %x: f16[4] row\n    out %y: f16[4] row\n",
      "    axes i=4\n    %y[i] = cumprod(i) %x[i] : f16\n");
  auto bounds = error_bounds(kernel, {vector({300, 300, 0.01, 1}, Dtype::f16)});
  ASSERT_TRUE(bounds) << format(bounds.errors());
  EXPECT_LT(bounds->at(0).at(0), 1);
  EXPECT_EQ(bounds->at(0).at(1), infinity);
  EXPECT_EQ(bounds->at(0).at(2), infinity);
}

// A kernel may add what stands side by side first: 3e38 + 3e38 is infinite before it meets the first number.
TEST(ErrorBounds, AScanMayJoinItsTermsInAnyGrouping) {
  auto kernel = parsed(
      "    in %x: f32[5] row\n    out %y: f32[5] row\n", "    axes i=5\n    %y[i] = cumsum(i) %x[i] : f32\n");
  auto bounds = bounds_of(kernel, {-3e38, 2e38, 2e38, -infinity, 1});
  EXPECT_LT(bounds[0], 1e33);
  EXPECT_LT(bounds[1], 1e33);
  EXPECT_EQ((std::vector<double>{bounds[2], bounds[3], bounds[4]}), std::vector<double>(3, infinity));
  bounds = bounds_of(kernel, {-3e38, 2e38, 1e38, -infinity, 1});
  for (double bound : bounds)
    EXPECT_LT(bound, 1e33);
}

TEST(ErrorBounds, AScanMayJoinItsFactorsInAnyGrouping) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[4] row\n",
      "    axes i=4\n    %y[i] = cumprod(i) %x[i] : f32\n");
  auto bounds = bounds_of(kernel, {1e-20, 1e20, 1e25, 1e-5});
  EXPECT_LT(bounds[0], 1e-25);
  EXPECT_LT(bounds[1], 1e-5);
  EXPECT_EQ(bounds[2], infinity);  // 1e20 * 1e25 first
  EXPECT_EQ(bounds[3], infinity);
  bounds = bounds_of(kernel, {1e20, 1e-20, 1e-20, 0});
  EXPECT_LT(bounds[1], 1e-5);
  EXPECT_EQ(bounds[2], infinity);  // 1e-20 * 1e-20 first: less than the smallest number but for denormals
  bounds = bounds_of(kernel, {2, 0, infinity, 3});
  EXPECT_LT(bounds[1], 1e-5);
}

TEST(ErrorBounds, LogaddexpRoundsItsLargerPart) {
  auto kernel = parsed(
      "    in %x: f32[1] row\n    out %y: f32[1] row\n",
      "    axes i=1\n    %y[i] = logaddexp %x[i], -0.5 : f32\n");
  // log(exp(-0.9327) + exp(-0.5)) is near 0, made of -0.5 and about 0.5.
  EXPECT_GE(bounds_of(kernel, {-0.9327})[0], 3 * 0.9 * 0x1p-24);
}

TEST(ErrorBounds, AnInfiniteOrNanInputIsNoLicence) {
  for (const char* op : {"exp %t[i]", "sub %t[i], 1.0", "tanh %t[i]", "log %t[i]", "div 1.0, %t[i]"}) {
    auto bounds = bounds_of(shifted(3, op), {infinity, -infinity, nan_value});
    for (double bound : bounds)
      EXPECT_FALSE(std::isinf(bound)) << op;
    for (double bound : bounds)
      EXPECT_FALSE(bound > 1e-6) << op << ' ' << bound;
  }
}

TEST(ErrorBounds, AMaskedRowIsNoLicence) {
  // softmax's middle: exp(t - max t) with some -inf.
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[4] row\n",
      "    axes i=4\n    %t[i] = mul %x[i], 0.3 : f32\n    %m[] = max(i) %t[i] : f32\n"
      "    %d[i] = sub %t[i], %m[] : f32\n    %y[i] = exp %d[i] : f32\n");
  for (double bound : bounds_of(kernel, {-infinity, 1, 2, -infinity}))
    EXPECT_LT(bound, 1e-6);
}

TEST(ErrorBounds, AVarianceThatMayBeZeroIsUndetermined) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[4] row\n",
      "    axes i=4\n    %s[] = sum(i) %x[i] : f32\n    %m[] = mul %s[], 0.25 : f32\n"
      "    %d[i] = sub %x[i], %m[] : f32\n    %q[i] = square %d[i] : f32\n    %v[] = sum(i) %q[i] : f32\n"
      "    %r[] = rsqrt %v[] : f32\n    %y[i] = mul %d[i], %r[] : f32\n");
  for (double bound : bounds_of(kernel, {0.1, 0.1, 0.1, 0.1}))
    EXPECT_TRUE(std::isinf(bound)) << bound;
  for (double bound : bounds_of(kernel, {1, 2, 3, 4}))
    EXPECT_LT(bound, 1e-5);
}

TEST(ErrorBounds, ASignWithinRoundingTimesAnInfinityIsUndetermined) {
  auto kernel = parsed(
      "    in %x: f32[3] row\n    in %w: f32[3] row\n    out %y: f32[3] row\n",
      "    axes i=3\n    %t[i] = mul %x[i], 3.0 : f32\n    %d[i] = sub %t[i], 1.0 : f32\n"
      "    %y[i] = mul %d[i], %w[i] : f32\n");
  auto bounds = error_bounds(kernel, {vector({1.0 / 3, 5, 1.0 / 3}), vector({-infinity, -infinity, 2})});
  ASSERT_TRUE(bounds) << format(bounds.errors());
  const auto found = (*bounds)[0].values();
  EXPECT_TRUE(std::isinf(found[0])) << found[0];  // either infinity, or NaN
  EXPECT_EQ(found[1], 0);
  EXPECT_LT(found[2], 1e-6);
}

TEST(ErrorBounds, AnAngleAtAZeroWhoseSignIsOpenIsUndetermined) {
  auto angle = [](const std::string& first) {
    return parsed(
        "    in %x: f32[2] row\n    out %y: f32[] row\n",
        "    axes i=2\n    %m[] = max(i) %x[i] : f32\n    %n[] = sub %x[0], 0.0 : f32\n    %y[] = atan2 " +
            first + ", -1.0 : f32\n");
  };
  EXPECT_TRUE(std::isinf(bounds_of(angle("%m[]"), {0.0, -0.0})[0]));
  EXPECT_LT(bounds_of(angle("%m[]"), {2, 3})[0], 1e-6);
  EXPECT_LT(bounds_of(angle("%n[]"), {1, -0.0})[0], 1e-6);
}

TEST(ErrorBounds, AThresholdHitWithinRoundingIsUncertain) {
  auto kernel = parsed(
      "    in %x: f32[3] row\n    out %y: bool[3] row\n",
      "    axes i=3\n    %t[i] = mul %x[i], 3.0 : f32\n    %y[i] = greater %t[i], 1.0 : bool\n");
  auto bounds = bounds_of(kernel, {1.0 / 3, 0.2, 0.4});
  EXPECT_EQ(bounds[0], 1);
  EXPECT_EQ(bounds[1], 0);
  EXPECT_EQ(bounds[2], 0);
}

TEST(ErrorBounds, AStepIsAsHighAsItIs) {
  auto bounds = bounds_of(shifted(2, "floor %t[i]"), {1.0 / 3, 0.5});
  EXPECT_EQ(bounds[0], 1);
  EXPECT_EQ(bounds[1], 0);
}

TEST(ErrorBounds, HalvesRoundCoarsely) {
  auto kernel = parsed(
      "    in %x: bf16[1] row\n    out %y: bf16[1] row\n",
      "    axes i=1\n    %t[i] = mul %x[i], 3.0 : bf16\n    %y[i] = sub %t[i], 3.0 : bf16\n");
  auto bounds = error_bounds(kernel, {vector({1}, Dtype::bf16)});
  ASSERT_TRUE(bounds);
  EXPECT_NEAR((*bounds)[0].at(0), 3 * 0x1p-8, 1e-4);
}

// t = 3 x, which is off by half an ulp, and y = op.
std::vector<double> bounds_of_tripled(
    const std::string& op, const std::vector<double>& x, bool is_bool = false) {
  const std::string n = std::to_string(x.size());
  return bounds_of(
      parsed(
          "    in %x: f32[" + n + "] row\n    out %y: " + (is_bool ? "bool[" : "f32[") + n + "] row\n",
          "    axes i=" + n + "\n    %t[i] = mul %x[i], 3.0 : f32\n    %u[i] = sub %t[i], 1.0 : f32\n" + op),
      x);
}

TEST(ErrorBounds, AnAngleOnTheLeftJumpsWhereTheHeightMayBeZero) {
  // The height, 2^-25, is within its rounding error of 0. Where what is beside it is smaller, no corner is
  // near pi.
  for (double left : {-1.0, -1e-10, -1e-40}) {
    auto bounds = bounds_of_tripled(
        "    %y[i] = atan2 %u[i], " + fmt::format("{}", left) + " : f32\n", {1.0 / 3, 1, 0.1});
    EXPECT_NEAR(bounds[0], 3.14159265 + std::atan2(0x1p-25, left), 1e-5) << left;
    EXPECT_LT(bounds[1], 1e-6) << left;
    EXPECT_LT(bounds[2], 1e-6) << left;
  }
  auto right = bounds_of_tripled("    %y[i] = atan2 %u[i], 1.0 : f32\n", {1.0 / 3});
  EXPECT_LT(right[0], 1e-6);
  auto either = bounds_of_tripled("    %y[i] = atan2 %u[i], %u[i] : f32\n", {1.0 / 3});
  EXPECT_GE(either[0], 3.14159265);
}

TEST(ErrorBounds, WhatIsEqualWithinRoundingIsUncertain) {
  // No corner of u, some 1e-8 from 0, is 2^-26.
  for (const char* op : {"equal", "not_equal"}) {
    auto bounds = bounds_of_tripled(
        std::string("    %y[i] = ") + op + " %u[i], 1.4901161193847656e-08 : bool\n",
        {1.0 / 3, 1, 0.1},
        true);
    EXPECT_EQ(bounds, (std::vector<double>{1, 0, 0})) << op;
  }
}

TEST(ErrorBounds, ACastToBoolMayFindZeroBetweenTheCorners) {
  auto bounds = bounds_of_tripled("    %y[i] = cast %u[i] : bool\n", {1.0 / 3, 1, 0.1}, true);
  EXPECT_EQ(bounds, (std::vector<double>{1, 0, 0}));
}

TEST(ErrorBounds, ARemainderJumpsByItsDivisor) {
  // 3 x is 2 within rounding: the remainder is 0, or just below 0.5.
  auto bounds = bounds_of_tripled("    %y[i] = remainder %t[i], 0.5 : f32\n", {2.0 / 3, 0.4});
  EXPECT_GE(bounds[0], 0.5);
  EXPECT_LT(bounds[0], 0.51);
  EXPECT_LT(bounds[1], 1e-6);
  // Both corners of a dividend of large error may have the remainder of the number itself.
  auto wide = bounds_of_tripled(
      "    %v[i] = mul %u[i], 50331648.0 : f32\n    %y[i] = remainder %v[i], 1.0 : f32\n", {1.0 / 3});
  EXPECT_GE(wide[0], 1);
}

TEST(ErrorBounds, APoleBetweenCornersIsUndetermined) {
  const double quarter_turn = 1.5707963267948966;
  auto tangents = bounds_of_tripled("    %y[i] = tan %t[i] : f32\n", {quarter_turn / 3, 0.1});
  EXPECT_TRUE(std::isinf(tangents[0])) << tangents[0];
  EXPECT_LT(tangents[1], 1e-6);
  auto squares = bounds_of_tripled("    %y[i] = power %u[i], -2.0 : f32\n", {1.0 / 3, 1});
  EXPECT_TRUE(std::isinf(squares[0])) << squares[0];
  EXPECT_LT(squares[1], 1e-6);
  auto quotients = bounds_of_tripled("    %y[i] = floor_divide 1.0, %u[i] : f32\n", {1.0 / 3, 0.9});
  EXPECT_TRUE(std::isinf(quotients[0])) << quotients[0];
  EXPECT_LT(quotients[1], 1e-6);
  auto roots = bounds_of_tripled("    %y[i] = power -2.0, %t[i] : f32\n", {1});
  EXPECT_TRUE(std::isinf(roots[0])) << roots[0];  // NaN for every exponent near 3
}

TEST(ErrorBounds, ACastThatMayBeUndefinedMayGiveAnything) {
  auto kernel = parsed(
      "    in %x: f32[2] row\n    out %y: i8[2] row\n",
      "    axes i=2\n    %t[i] = mul %x[i], 3.0 : f32\n    %y[i] = cast %t[i] : i8\n");
  auto bounds = bounds_of(kernel, {std::nextafter(128.0 / 3, 0), 100.0 / 3});
  EXPECT_TRUE(std::isinf(bounds[0])) << bounds[0];
  EXPECT_LE(bounds[1], 1);
}

TEST(ErrorBounds, BitsOfAnUncertainNumber) {
  auto kernel = parsed(
      "    in %x: f32[2] row\n    out %y: i32[2] row\n",
      "    axes i=2\n    %t[i] = mul %x[i], 3.0 : f32\n    %f[i] = floor %t[i] : f32\n"
      "    %n[i] = cast %f[i] : i32\n    %y[i] = bitwise_xor %n[i], 6 : i32\n");
  auto bounds = bounds_of(kernel, {8.0 / 3, 2.5});  // 7 or 8, of which xor makes 1 or 14; 7
  EXPECT_GE(bounds[0], 13);
  EXPECT_LT(bounds[0], 64);
  EXPECT_EQ(bounds[1], 0);
}

TEST(ErrorBounds, ThePlaceOfAnExtremeWithinRounding) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: u32[] row\n",
      "    axes i=4\n    %t[i] = mul %x[i], 3.0 : f32\n    %y[] = argmax(i) %t[i] : u32\n");
  const double third = 1.0 / 3, beside = std::nextafter(static_cast<float>(third), 0.0f);
  EXPECT_EQ(bounds_of(kernel, {third, 0, 0, beside})[0], 3);
  EXPECT_EQ(bounds_of(kernel, {0, beside, third, 0})[0], 1);
  EXPECT_EQ(bounds_of(kernel, {0, 0.3, third, 0})[0], 0);
  auto exact = parsed(
      "    in %x: f32[4] row\n    out %y: u32[] row\n", "    axes i=4\n    %y[] = argmax(i) %x[i] : u32\n");
  EXPECT_EQ(bounds_of(exact, {1, 0, 1, 0})[0], 0);
}

}  // namespace
}  // namespace autoperfect

// The functions of half dtypes in the CUDA prelude, which is read here with f32 as the host has it: over all
// numbers of both dtypes, the greatest error once it is rounded, as the prelude states it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/scalar_semantics.h"

namespace ap {

using vf = float;
inline vf fma(vf a, vf b, vf c) {
  return std::fma(a, b, c);
}
// The instruction is 2 ulp off at most; here by as much, all one way.
inline vf power_of_two(vf x) {
  return static_cast<float>(std::exp2(static_cast<double>(x)) * (1 + 0x1p-22));
}

}  // namespace ap

#include "compile/cuda/prelude/01_of_half.h"

namespace autoperfect {
namespace {

struct Half {
  Dtype dtype;
  int digits, least_exponent;
};
constexpr Half f16{Dtype::f16, 10, -14}, bf16{Dtype::bf16, 7, -126};

float number(const Half& half, uint32_t bits) {
  const int sign = bits & 0x8000 ? -1 : 1, scale = 1 << half.digits;
  const int exponent = static_cast<int>(bits & 0x7fff) >> half.digits,
            digits = static_cast<int>(bits) & (scale - 1);
  if (exponent == 3 - 2 * half.least_exponent)
    return digits ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  const double size = std::ldexp(
      exponent ? digits + scale : digits, std::max(exponent, 1) + half.least_exponent - 1 - half.digits);
  return static_cast<float>(sign * size);
}

// The greatest error of function(x), rounded, in ulp of the half dtype; NaN and infinities must be right.
template <class Function, class Exact>
double greatest_error(const Half& half, Function function, Exact exact) {
  double worst = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float x = number(half, bits);
    const double want = exact(static_cast<double>(x)), got = round_to(half.dtype, function(x));
    const double rounded = round_to(half.dtype, want);
    if (std::isnan(want) || std::isinf(rounded)) {
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == rounded) << x;
      continue;
    }
    const int exponent = want == 0 ? half.least_exponent : std::max(std::ilogb(want), half.least_exponent);
    worst = std::max(worst, std::fabs(got - want) / std::ldexp(1.0, exponent - half.digits));
  }
  return worst;
}

float erf_of_half(float x) {
  constexpr float most = ap::erf_is_one;
  return ap::erf_within(x < -most ? -most : x > most ? most : x);
}

TEST(cuda_half_math, every_number_is_the_dtypes_own) {
  for (const Half& half : {f16, bf16}) {
    EXPECT_EQ(number(half, 1), std::ldexp(1.0, half.least_exponent - half.digits));
    EXPECT_EQ(number(half, 0x8000u | 0x3c00u), half.dtype == Dtype::f16 ? -1.0f : -0.0078125f);
    EXPECT_EQ(round_to(half.dtype, number(half, 0x1234)), number(half, 0x1234));
    EXPECT_TRUE(std::isnan(number(half, 0x7fff)));
  }
  EXPECT_TRUE(std::isinf(number(f16, 0x7c00)));
  EXPECT_TRUE(std::isinf(number(bf16, 0x7f80)));
}

TEST(cuda_half_math, erf) {
  auto exact = [](double x) { return std::erf(x); };
  EXPECT_LE(greatest_error(f16, erf_of_half, exact), 0.511);
  EXPECT_LE(greatest_error(bf16, erf_of_half, exact), 0.502);
}

TEST(cuda_half_math, exp) {
  auto exact = [](double x) { return std::exp(x); };
  EXPECT_LE(greatest_error(f16, ap::exp_of_half, exact), 0.501);
  EXPECT_LE(greatest_error(bf16, ap::exp_of_half, exact), 0.501);
}

// What softmax sums and scales in f32 for halves.
TEST(cuda_half_math, exp_of_any_number) {
  for (double x = -103; x < 88.7; x += 0.00317) {
    const auto at = static_cast<float>(x);
    const double want = std::exp(static_cast<double>(at)), unit = std::max(want, 0x1p-126);
    EXPECT_LE(std::fabs(ap::exp_of_half(at) - want), 0x1p-16 * unit) << at;
  }
  EXPECT_EQ(ap::exp_of_half(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(ap::exp_of_half(0), 1 + 0x1p-21f);
}

}  // namespace
}  // namespace autoperfect

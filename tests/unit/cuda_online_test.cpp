// Sums of exponentials in one sweep, as the CUDA prelude finds them, which is read here with f32 as the host
// has it: next to two sweeps in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ap {

using vf = float;
inline vf exp(vf x) {
  return std::exp(x);
}

}  // namespace ap

#include "compile/cuda/prelude/01_online.h"

namespace autoperfect {
namespace {

using Row = std::vector<float>;
constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

constexpr int pack = 4;
const auto exponential = [](float x) { return ap::exp(x); };

// As threads do: each goes through its share, in packs as far as they go, then they meet two by two.
float in_one_sweep(const Row& row, size_t threads, bool in_packs = false) {
  std::vector<ap::Exponentials> found(threads);
  size_t i = 0;
  for (; in_packs && i + pack <= row.size(); i += pack) {
    const float x[pack] = {row[i], row[i + 1], row[i + 2], row[i + 3]};
    found[i / pack % threads] = ap::with(found[i / pack % threads], x, exponential);
  }
  for (; i < row.size(); ++i)
    found[i % threads] = ap::with(found[i % threads], row[i], exponential);
  for (size_t step = 1; step < threads; step *= 2)
    for (size_t t = 0; t + step < threads; t += 2 * step)
      found[t] = ap::joined(found[t], found[t + step]);
  return ap::sum_of(found[0]);
}

double in_two_sweeps(const Row& row) {
  double largest = -inf, sum = 0;
  for (const double x : row)
    largest = std::isnan(x) || x > largest ? x : largest;
  for (const double x : row)
    sum += std::exp(x - largest);
  return sum;
}

TEST(cuda_online, of_numbers_as_two_sweeps) {
  std::mt19937 random(1);
  for (const float spread : {1e-3f, 1.0f, 30.0f, 1e4f, 3e37f})
    for (const size_t length : {1, 2, 31, 1000, 50257}) {
      Row row(length);
      std::normal_distribution<float> normal(0, spread);
      for (auto& x : row)
        x = normal(random);
      for (const size_t threads : {1, 4, 32, 1024}) {
        const double want = in_two_sweeps(row), steps = 8 + static_cast<double>(length) / threads;
        for (const bool in_packs : {false, true})
          EXPECT_NEAR(in_one_sweep(row, threads, in_packs), want, steps * 0x1p-24 * want)
              << spread << " " << length << " " << threads << " " << in_packs;
      }
    }
}

TEST(cuda_online, by_hand) {
  EXPECT_FLOAT_EQ(in_one_sweep({5}, 1), 1);
  EXPECT_FLOAT_EQ(in_one_sweep({-2, -2, -2}, 2), 3);
  EXPECT_FLOAT_EQ(in_one_sweep({0, std::log(2.0f)}, 1), 1.5f);  // the largest comes last
  EXPECT_FLOAT_EQ(in_one_sweep({std::log(2.0f), 0}, 1), 1.5f);
  const float lowest = std::numeric_limits<float>::lowest();
  EXPECT_FLOAT_EQ(in_one_sweep({lowest, lowest}, 1), 2);
  EXPECT_FLOAT_EQ(in_one_sweep({lowest, -inf, lowest}, 4), 2);
}

// Minus infinities add nothing wherever they stand; where nothing else is, and where an infinity or a NaN is,
// the difference from the largest is NaN.
TEST(cuda_online, of_infinities_and_nan) {
  for (const size_t threads : {1, 2, 8}) {
    EXPECT_FLOAT_EQ(in_one_sweep({-inf, -inf, -inf, 1, 1}, threads), 2);
    EXPECT_FLOAT_EQ(in_one_sweep({1, -inf, 1, -inf}, threads), 2);
    EXPECT_FLOAT_EQ(in_one_sweep({-inf, 3}, threads), 1);
    for (const Row& row :
         {Row{-inf},
          Row{-inf, -inf, -inf},
          Row{inf},
          Row{1, inf},
          Row{inf, 1},
          Row{inf, inf},
          Row{-inf, inf},
          Row{inf, -inf},
          Row{nan},
          Row{1, nan},
          Row{nan, 1},
          Row{-inf, nan},
          Row{nan, -inf},
          Row{inf, nan},
          Row{nan, inf},
          Row{1, 2, nan, 3, 4}}) {
      EXPECT_TRUE(std::isnan(in_two_sweeps(row)));
      EXPECT_TRUE(std::isnan(in_one_sweep(row, threads)));
      Row longer = row;
      for (const float more : {-inf, -inf, 2.0f, -inf, -inf})
        longer.push_back(more);
      const bool hidden = std::all_of(row.begin(), row.end(), [](float x) { return x == -inf; });
      EXPECT_EQ(std::isnan(in_one_sweep(longer, threads, true)), !hidden);
    }
    const Row nothing(9, -inf);
    EXPECT_TRUE(std::isnan(in_one_sweep(nothing, threads, true)));
  }
}

}  // namespace
}  // namespace autoperfect

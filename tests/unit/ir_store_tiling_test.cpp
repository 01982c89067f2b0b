// check_tiling() against counting every element.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/affine.h"
#include "ir/store_tiling.h"

namespace autoperfect {
namespace {

using Verdict = Tiling::Verdict;
using Map = std::vector<Affine>;

struct Part {
  Map map;
  std::vector<AxisId> over;
};

Tiling tiling(const std::vector<Part>& parts, const std::vector<Axis>& axes, const Shape& shape) {
  std::vector<StorePart> stores;
  for (const auto& part : parts)
    stores.push_back({&part.map, &part.over});
  return check_tiling(stores, axes, shape);
}

// How often each element is stored.
std::vector<int> counted(const std::vector<Part>& parts, const std::vector<Axis>& axes, const Shape& shape) {
  int64_t elements = 1;
  for (auto size : shape)
    elements *= size;
  std::vector<int> count(static_cast<size_t>(elements), 0);
  for (const auto& part : parts) {
    int64_t box = 1;
    for (auto axis : part.over)
      box *= axes[axis].size;
    for (int64_t n = 0; n < box; ++n) {
      std::vector<int64_t> at(axes.size(), 0);
      int64_t rest = n;
      for (auto axis : part.over) {
        at[axis] = rest % axes[axis].size;
        rest /= axes[axis].size;
      }
      int64_t element = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        int64_t index = part.map[d].offset;
        for (auto [axis, coefficient] : part.map[d].terms)
          index += coefficient * at[axis];
        element = element * shape[d] + index;
      }
      ++count[element];
    }
  }
  return count;
}

std::vector<Axis> axes_of(const std::vector<int64_t>& sizes) {
  std::vector<Axis> axes;
  for (auto size : sizes)
    axes.push_back({"a", size, false, {}});
  return axes;
}

TEST(StoreTiling, OneStoreAgreesWithCounting) {
  const auto axes = axes_of({2, 3, 1});
  int bijections = 0;
  for (int64_t a = -3; a <= 3; ++a) {
    for (int64_t b = -3; b <= 3; ++b) {
      for (int64_t offset = 0; offset < 6; ++offset) {
        const Affine affine{offset, {{0, a}, {1, b}, {2, 1}}};
        if (a == 0 || b == 0 || !in_bounds(affine, axes, 0, 6)) continue;
        const std::vector<Part> parts = {{{affine}, {0, 1, 2}}};
        const bool expected = counted(parts, axes, {6}) == std::vector<int>(6, 1);
        EXPECT_EQ(tiling(parts, axes, {6}).verdict == Verdict::tiles, expected)
            << a << " " << b << " " << offset;
        bijections += expected;
      }
    }
  }
  EXPECT_EQ(bijections, 8);  // rows or columns first, each axis forwards or backwards
  EXPECT_EQ(
      tiling({{{{0, {{1, 1}}}}, {1, 2}}}, axes, {3}).verdict, Verdict::unproven);  // an axis is not used
  EXPECT_EQ(tiling({{{{0, {{0, 1}}}, {0, {{0, 1}}}}, {0}}}, axes, {2, 2}).verdict, Verdict::unproven);
  EXPECT_EQ(tiling({{{}, {}}}, axes, {}).verdict, Verdict::tiles);
}

TEST(StoreTiling, Parts) {
  const auto axes = axes_of({4, 3, 0});
  const Affine i{0, {{0, 1}}}, j{0, {{1, 1}}};
  const Part left{{i, j}, {0, 1}}, right{{i, {3, {{1, 1}}}}, {0, 1}}, last{{i, {3, {}}}, {0}};
  EXPECT_EQ(tiling({left, right}, axes, {4, 6}).verdict, Verdict::tiles);
  EXPECT_EQ(tiling({left, last}, axes, {4, 4}).verdict, Verdict::tiles);
  const auto missing = tiling({left, last}, axes, {4, 5});
  EXPECT_EQ(missing.verdict, Verdict::incomplete);
  EXPECT_EQ(missing.stored, 16);
  const auto twice = tiling({last, right}, axes, {4, 6});
  EXPECT_EQ(twice.verdict, Verdict::overlaps);
  EXPECT_EQ(std::pair(twice.part, twice.other), (std::pair<size_t, size_t>(0, 1)));
  // Interleaved, backwards, and with columns of a split dimension.
  const Part even{{{0, {{0, 2}}}}, {0}}, odd{{{7, {{0, -2}}}}, {0}};
  EXPECT_EQ(tiling({even, odd}, axes, {8}).verdict, Verdict::tiles);
  EXPECT_EQ(tiling({even, even}, axes, {8}).verdict, Verdict::overlaps);
  const Part columns{{{0, {{0, 4}, {1, 1}}}}, {0, 1}}, column{{{3, {{0, 4}}}}, {0}};
  EXPECT_EQ(tiling({columns, column}, axes, {16}).verdict, Verdict::tiles);
  EXPECT_EQ(tiling({columns}, axes, {16}).verdict, Verdict::incomplete);
  EXPECT_EQ(tiling({columns, {{{2, {{0, 4}}}}, {0}}}, axes, {16}).verdict, Verdict::overlaps);
  // A part over an empty axis stores nothing.
  EXPECT_EQ(tiling({even, odd, {{{0, {{2, 1}}}}, {2}}}, axes, {8}).verdict, Verdict::tiles);
}

// Whatever is called tiled or overlapping is, and most random tilings are recognised.
TEST(StoreTiling, RandomPartsAgreeWithCounting) {
  std::mt19937 random(3);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  int tiled = 0, overlapping = 0, incomplete = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto axes = axes_of({1 + below(3), 1 + below(3), 1 + below(4)});
    const Shape shape = {1 + below(4), 1 + below(12)};
    std::vector<Part> parts;
    for (int64_t n = 1 + below(3); n > 0; --n) {
      Part part{{{below(2), {}}, {below(4), {}}}, {}};
      for (AxisId axis = 0; axis < 3; ++axis) {
        if (below(2)) continue;
        const int64_t steps[] = {1, 1, 2, 3, 4, -1};
        part.map[below(2)].terms.emplace_back(axis, steps[below(6)]);
        part.over.push_back(axis);
      }
      if (in_bounds(part.map[0], axes, 0, shape[0]) && in_bounds(part.map[1], axes, 0, shape[1]))
        parts.push_back(part);
    }
    if (parts.empty()) continue;
    const auto found = tiling(parts, axes, shape);
    const auto count = counted(parts, axes, shape);
    const int most = *std::max_element(count.begin(), count.end()),
              least = *std::min_element(count.begin(), count.end());
    if (found.verdict == Verdict::tiles) EXPECT_TRUE(most == 1 && least == 1) << round;
    if (found.verdict == Verdict::overlaps) EXPECT_GT(most, 1) << round;
    if (found.verdict == Verdict::incomplete) EXPECT_TRUE(most == 1 && least == 0) << round;
    const bool is_proved = found.verdict != Verdict::unproven || most > 1 || least == 0;
    EXPECT_TRUE(is_proved) << "a tiling that is not recognised, round " << round;
    tiled += found.verdict == Verdict::tiles;
    overlapping += found.verdict == Verdict::overlaps;
    incomplete += found.verdict == Verdict::incomplete;
  }
  EXPECT_GT(tiled, 40);
  EXPECT_GT(overlapping, 1000);
  EXPECT_GT(incomplete, 1000);
}

TEST(StoreTiling, ThousandsOfPartsTakeNoTimeToSpeakOf) {
  const int64_t n = 20000;
  std::vector<Part> rows, interleaved;
  const auto axes = axes_of({4});
  for (int64_t p = 0; p < n; ++p) {
    rows.push_back({{{p, {}}, {0, {{0, 1}}}}, {0}});
    interleaved.push_back({{{p, {{0, n}}}}, {0}});
  }
  EXPECT_EQ(tiling(rows, axes, {n, 4}).verdict, Verdict::tiles);
  EXPECT_EQ(tiling(interleaved, axes, {4 * n}).verdict, Verdict::tiles);
}

}  // namespace
}  // namespace autoperfect

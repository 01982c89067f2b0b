#include "ir/store_tiling.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace autoperfect {

namespace {

__extension__ typedef __int128 Wide;

using Box = std::vector<Digits>;

// One dimension of a map as offset + sum of step * (0 to count-1), steps positive and ascending.
struct Steps {
  int64_t offset = 0;
  struct Step {
    int64_t step, count;
    AxisId axis;
  };
  std::vector<Step> steps;
};

Steps steps_of(const Affine& affine, const std::vector<Axis>& axes) {
  Steps out{affine.offset, {}};
  for (auto [axis, coefficient] : affine.terms) {
    const int64_t size = axes[axis].size;
    if (size == 1) continue;
    if (coefficient < 0) out.offset += coefficient * (size - 1);
    out.steps.push_back({coefficient < 0 ? -coefficient : coefficient, size, axis});
  }
  std::sort(out.steps.begin(), out.steps.end(), [](auto a, auto b) { return a.step < b.step; });
  return out;
}

// Steps that nest without a gap are one progression.
std::optional<Digits> progression_of(const Steps& steps) {
  Digits out{steps.offset, steps.steps.empty() ? 1 : steps.steps[0].step, 1, {}};
  for (auto [step, count, axis] : steps.steps) {
    if (Wide{step} != Wide{out.stride} * out.count) return std::nullopt;
    out.count *= count;
    out.axes.insert(out.axes.begin(), axis);
  }
  return out;
}

// The row lengths at which a dimension is split so that every part is a box of it: where the steps of a part
// leave a gap. Each divides the next, and all divide the size; otherwise there are none.
std::vector<int64_t> splits_of(const std::vector<Steps>& parts, int64_t size) {
  std::set<int64_t> rows;
  for (const auto& part : parts) {
    for (size_t i = 1; i < part.steps.size(); ++i) {
      const auto& below = part.steps[i - 1];
      if (Wide{part.steps[i].step} != Wide{below.step} * below.count) rows.insert(part.steps[i].step);
    }
  }
  std::vector<int64_t> splits(rows.begin(), rows.end());
  for (size_t i = 0; i < splits.size(); ++i) {
    const int64_t whole = i + 1 < splits.size() ? splits[i + 1] : size;
    if (whole % splits[i] != 0) return {};
  }
  return splits;
}

// Row lengths of the split dimensions of one dimension, least significant first, and where each ends.
std::vector<std::pair<int64_t, int64_t>> levels_of(const std::vector<int64_t>& splits, int64_t size) {
  std::vector<std::pair<int64_t, int64_t>> levels;
  int64_t row = 1;
  for (int64_t whole : splits)
    levels.emplace_back(std::exchange(row, whole), whole);
  levels.emplace_back(row, size);
  return levels;
}

// A part of one dimension as a box of its split dimensions.
std::optional<Box> split_part(const Steps& part, const std::vector<std::pair<int64_t, int64_t>>& levels) {
  Box box;
  int64_t rest = part.offset;
  size_t next = 0;
  for (auto [row, whole] : levels) {
    Steps digit{rest % whole / row, {}};
    rest -= rest % whole;
    for (; next < part.steps.size() && part.steps[next].step < whole; ++next) {
      auto [step, count, axis] = part.steps[next];
      if (step % row != 0) return std::nullopt;
      digit.steps.push_back({step / row, count, axis});
    }
    auto progression = progression_of(digit);
    if (!progression || progression->last() >= whole / row) return std::nullopt;
    box.insert(box.begin(), std::move(*progression));
  }
  if (next != part.steps.size()) return std::nullopt;
  return box;
}

bool uses_each_axis_once(const StorePart& part, const std::vector<Axis>& axes) {
  std::vector<int> uses(axes.size(), 0);
  for (const auto& affine : *part.map) {
    for (const auto& term : affine.terms)
      ++uses[term.first];
  }
  return std::all_of(part.over->begin(), part.over->end(), [&](AxisId axis) {
    return uses[axis] == 1 || (uses[axis] > 1 && axes[axis].size == 1);
  });
}

bool is_empty(const StorePart& part, const std::vector<Axis>& axes) {
  return std::any_of(part.over->begin(), part.over->end(), [&](AxisId a) { return axes[a].size == 0; });
}

// The inverse of `value` modulo `modulus`, which have no common divisor.
Wide inverse(Wide value, Wide modulus) {
  Wide x = 0, next_x = 1, rest = modulus, next_rest = value % modulus;
  while (next_rest != 0) {
    const Wide quotient = rest / next_rest;
    x = std::exchange(next_x, x - quotient * next_x);
    rest = std::exchange(next_rest, rest - quotient * next_rest);
  }
  return (x % modulus + modulus) % modulus;
}

// The first common element of the two endless progressions decides.
bool disjoint(const Digits& a, const Digits& b) {
  const int64_t lowest = std::max(a.start, b.start), highest = std::min(a.last(), b.last());
  const int64_t common = std::gcd(a.stride, b.stride);
  const Wide difference = Wide{b.start} - a.start;
  if (lowest > highest || difference % common != 0) return true;
  const Wide period = b.stride / common;
  Wide steps = difference / common % period * inverse(a.stride / common, period) % period;
  steps = (steps + period) % period;
  Wide first = a.start + steps * a.stride;
  const Wide all = period * a.stride;  // both progressions repeat together
  if (first < lowest) first += (lowest - first + all - 1) / all * all;
  return first > highest;
}

// Finds two boxes that share an element. Boxes are first set apart dimension by dimension, where intervals of
// them do not touch or all step alike with other remainders, so that the usual parts need no look at every
// pair.
class OverlapFinder {
 public:
  explicit OverlapFinder(const std::vector<Box>& boxes) : boxes_(boxes) {}

  std::optional<std::pair<size_t, size_t>> find(std::vector<size_t> group, size_t dimension) const {
    if (group.size() < 2) return std::nullopt;
    if (dimension == boxes_[group[0]].size()) return find_pair(group);
    const int64_t step = common_step(group, dimension);
    auto remainder = [&](size_t b) { return boxes_[b][dimension].start % step; };
    auto start = [&](size_t b) { return boxes_[b][dimension].start; };
    std::sort(group.begin(), group.end(), [&](size_t a, size_t b) {
      return std::tuple(remainder(a), start(a), a) < std::tuple(remainder(b), start(b), b);
    });
    std::vector<size_t> together;
    int64_t reached = 0;
    for (size_t b : group) {
      const bool apart = !together.empty() && (remainder(b) != remainder(together[0]) || start(b) > reached);
      if (apart) {
        if (auto found = find(std::exchange(together, {}), dimension + 1)) return found;
      }
      const int64_t last = boxes_[b][dimension].last();
      reached = together.empty() ? last : std::max(reached, last);
      together.push_back(b);
    }
    return find(std::move(together), dimension + 1);
  }

 private:
  // The step of all progressions, 1 when they differ; those of one element step as the others do.
  int64_t common_step(const std::vector<size_t>& group, size_t dimension) const {
    int64_t step = 0;
    for (size_t b : group) {
      const auto& progression = boxes_[b][dimension];
      if (progression.count > 1) step = std::gcd(step, progression.stride);
    }
    return step == 0 ? 1 : step;
  }

  std::optional<std::pair<size_t, size_t>> find_pair(const std::vector<size_t>& group) const {
    for (size_t i = 1; i < group.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const auto &a = boxes_[group[i]], &b = boxes_[group[j]];
        bool apart = false;
        for (size_t d = 0; d < a.size() && !apart; ++d)
          apart = disjoint(a[d], b[d]);
        if (!apart) return std::minmax(group[i], group[j]);
      }
    }
    return std::nullopt;
  }

  const std::vector<Box>& boxes_;
};

}  // namespace

std::optional<PartLayout> lay_out(
    const std::vector<StorePart>& parts,
    const std::vector<Axis>& axes,
    const Shape& shape,
    size_t& unproven) {
  PartLayout layout;
  layout.parts.resize(parts.size());
  for (unproven = 0; unproven < parts.size(); ++unproven) {
    if (!uses_each_axis_once(parts[unproven], axes)) return std::nullopt;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<Steps> steps;
    for (const auto& part : parts)
      steps.push_back(steps_of((*part.map)[d], axes));
    const auto levels = levels_of(splits_of(steps, shape[d]), shape[d]);
    for (auto level = levels.rbegin(); level != levels.rend(); ++level)
      layout.shape.push_back(level->second / level->first);
    for (unproven = 0; unproven < parts.size(); ++unproven) {
      auto box = split_part(steps[unproven], levels);
      if (!box) return std::nullopt;
      auto& whole = layout.parts[unproven];
      whole.insert(whole.end(), box->begin(), box->end());
    }
  }
  return layout;
}

Tiling check_tiling(const std::vector<StorePart>& parts, const std::vector<Axis>& axes, const Shape& shape) {
  using Verdict = Tiling::Verdict;
  std::vector<size_t> filled;
  std::vector<StorePart> stored_parts;
  for (size_t p = 0; p < parts.size(); ++p) {
    if (!uses_each_axis_once(parts[p], axes)) return {Verdict::unproven, p};
    if (is_empty(parts[p], axes)) continue;
    filled.push_back(p);
    stored_parts.push_back(parts[p]);
  }
  size_t unproven = 0;
  const auto layout = lay_out(stored_parts, axes, shape, unproven);
  if (!layout) return {Verdict::unproven, filled[unproven]};
  Wide stored = 0, elements = 1;
  for (auto size : shape)
    elements *= size;
  for (const auto& box : layout->parts) {
    Wide count = 1;
    for (const auto& progression : box)
      count *= progression.count;
    stored += count;
  }
  std::vector<size_t> all(filled.size());
  std::iota(all.begin(), all.end(), 0);
  if (auto pair = OverlapFinder(layout->parts).find(std::move(all), 0))
    return {Verdict::overlaps, filled[pair->first], filled[pair->second]};
  if (stored != elements) return {Verdict::incomplete, 0, 0, static_cast<int64_t>(stored)};
  return {};
}

}  // namespace autoperfect

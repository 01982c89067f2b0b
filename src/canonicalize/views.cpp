#include "canonicalize/views.h"

#include <algorithm>

namespace autoperfect {

std::vector<SliceRange> slice_ranges(const Attributes& attributes, const Shape& from, const Shape& to) {
  const auto& start = attributes.get<std::vector<int64_t>>("start");
  const auto& strides = attributes.get<std::vector<int64_t>>("strides");
  std::vector<SliceRange> ranges;
  for (size_t d = 0; d < from.size(); ++d) {
    const int64_t n = from[d], count = to[d];
    const int64_t first = start[d] < 0 ? start[d] + n : start[d];
    SliceRange range{
        strides[d] < 0 ? std::min(first, n - 1) : std::max<int64_t>(first, 0), strides[d], count};
    if (count == 0) range.first = 0;
    if (count <= 1) range.stride = 1;
    ranges.push_back(range);
  }
  return ranges;
}

Attributes slice_attributes(const std::vector<SliceRange>& ranges, const Shape& from) {
  std::vector<int64_t> start, stop, strides;
  for (size_t d = 0; d < ranges.size(); ++d) {
    const auto& [first, stride, count] = ranges[d];
    const int64_t last = first + (count - 1) * stride;
    start.push_back(first);
    strides.push_back(stride);
    if (count == 0) {
      stop.push_back(0);
    } else {
      stop.push_back(stride > 0 ? last + 1 : last > 0 ? last - 1 : -(from[d] + 1));
    }
  }
  Attributes attributes;
  attributes.set("start", std::move(start));
  attributes.set("stop", std::move(stop));
  attributes.set("strides", std::move(strides));
  return attributes;
}

std::optional<size_t> differing_axis(const std::vector<SliceRange>& a, const std::vector<SliceRange>& b) {
  std::optional<size_t> axis;
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] == b[d]) continue;
    if (axis) return std::nullopt;
    axis = d;
  }
  return axis;
}

SliceRange whole(int64_t size) {
  return {0, 1, size};
}

std::vector<size_t> wide_axes(const Shape& shape) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) axes.push_back(d);
  }
  return axes;
}

bool same_but_ones(const Shape& a, const Shape& b) {
  size_t i = 0, j = 0;
  while (true) {
    while (i < a.size() && a[i] == 1)
      ++i;
    while (j < b.size() && b[j] == 1)
      ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i++] != b[j++]) return false;
  }
}

size_t common_prefix(const Shape& a, const Shape& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

size_t common_suffix(const Shape& a, const Shape& b) {
  return std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
}

}  // namespace autoperfect

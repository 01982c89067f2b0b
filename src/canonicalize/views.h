// What the view rules share: slices as ranges, and reshapes that only add or drop axes of size 1.
#pragma once

#include "canonicalize/rewriter.h"

namespace autoperfect {

// The elements first, first + stride, ... of one axis.
struct SliceRange {
  int64_t first = 0, stride = 1, count = 0;
  bool operator==(const SliceRange&) const = default;
};

std::vector<SliceRange> slice_ranges(const Attributes& attributes, const Shape& from, const Shape& to);

// The one spelling: the first element, one past the last in the direction of the stride, and stride 1 where
// at most one element is taken. A backward slice that ends with element 0 stops at -(n + 1): -1 would mean
// the end.
Attributes slice_attributes(const std::vector<SliceRange>& ranges, const Shape& from);

SliceRange whole(int64_t size);

// The one axis in which two boxes of one rank differ; nothing where there are more, or none.
std::optional<size_t> differing_axis(const std::vector<SliceRange>& a, const std::vector<SliceRange>& b);

// `node` is a slice of what `inner` made: see slice_of_parts.cpp.
std::optional<ValueId> slice_of_parts(
    Rewriter& to, const NewNode& node, const Node& inner, const std::vector<SliceRange>& ranges);

// Shapes that differ only by axes of size 1.
bool same_but_ones(const Shape& a, const Shape& b);

// The axes that are not of size 1, in order.
std::vector<size_t> wide_axes(const Shape& shape);

// How many axes two shapes have in common at the start, and at the end.
size_t common_prefix(const Shape& a, const Shape& b);
size_t common_suffix(const Shape& a, const Shape& b);

}  // namespace autoperfect

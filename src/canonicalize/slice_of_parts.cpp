// A slice that takes from one part only of what it is a slice of: of that part.
#include <algorithm>

#include "canonicalize/parts.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

int64_t lowest(const SliceRange& range) {
  return std::min(range.first, range.first + (range.count - 1) * range.stride);
}
int64_t highest(const SliceRange& range) {
  return std::max(range.first, range.first + (range.count - 1) * range.stride);
}

std::optional<ValueId> slice_of_concatenation(
    Rewriter& to, const Node& inner, std::vector<SliceRange> ranges) {
  const auto axis = inner.attributes.get<int64_t>("axis");
  SliceRange& range = ranges[axis];
  for (auto part : inner.operands) {
    const int64_t size = to.shape(part)[axis];
    if (lowest(range) >= 0 && highest(range) < size)
      return to.add(Op::slice, {part}, slice_attributes(ranges, to.shape(part)));
    range.first -= size;
  }
  return std::nullopt;
}

std::optional<ValueId> slice_of_padding(
    Rewriter& to, const NewNode& node, const Node& inner, std::vector<SliceRange> ranges) {
  const ValueId x = inner.operands[0];
  const Shape shape = to.shape(x);
  const Padding padding = padding_of(inner.attributes, shape.size());
  bool is_inside = true;
  for (size_t d = 0; d < ranges.size(); ++d) {
    ranges[d].first -= padding.low[d];
    if (highest(ranges[d]) < 0 || lowest(ranges[d]) >= shape[d])
      return to.add_broadcast(inner.operands[1], node.type.shape);
    is_inside &= lowest(ranges[d]) >= 0 && highest(ranges[d]) < shape[d];
  }
  if (!is_inside) return std::nullopt;
  return to.add(Op::slice, {x}, slice_attributes(ranges, shape));
}

std::optional<ValueId> slice_of_update(Rewriter& to, const Node& inner, std::vector<SliceRange> ranges) {
  if (inner.attributes.has("reduce")) return std::nullopt;
  const ValueId x = inner.operands[0], update = inner.operands[1];
  const auto box = slice_ranges(inner.attributes, to.shape(x), to.shape(update));
  bool is_inside = true;
  for (size_t d = 0; d < ranges.size(); ++d) {
    if (highest(ranges[d]) < lowest(box[d]) || lowest(ranges[d]) > highest(box[d]))
      return to.add(Op::slice, {x}, slice_attributes(ranges, to.shape(x)));
    is_inside &= box[d].stride == 1 && lowest(ranges[d]) >= box[d].first &&
                 highest(ranges[d]) < box[d].first + box[d].count;
  }
  if (!is_inside) return std::nullopt;
  for (size_t d = 0; d < ranges.size(); ++d)
    ranges[d].first -= box[d].first;
  return to.add(Op::slice, {update}, slice_attributes(ranges, to.shape(update)));
}

}  // namespace

std::optional<ValueId> slice_of_parts(
    Rewriter& to, const NewNode& node, const Node& inner, const std::vector<SliceRange>& ranges) {
  switch (inner.op) {
    case Op::concatenate:
      return slice_of_concatenation(to, inner, ranges);
    case Op::pad:
      return slice_of_padding(to, node, inner, ranges);
    case Op::slice_update:
      return slice_of_update(to, inner, ranges);
    default:
      return std::nullopt;
  }
}

}  // namespace autoperfect

#include <algorithm>

#include "canonicalize/passes.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

using Axes = std::vector<int64_t>;

bool ascends(const Axes& axes) {
  return std::is_sorted(axes.begin(), axes.end());
}

// `axes` without those of size 1, which it does not matter where they go.
Axes wide_only(const Axes& axes, const Shape& shape) {
  Axes wide;
  for (auto axis : axes) {
    if (shape[axis] != 1) wide.push_back(axis);
  }
  return wide;
}

// The permutation that leaves axes of size 1 where they are and has the others in the order of `wide`.
Axes with_ones_fixed(const Axes& wide, const Shape& shape) {
  Axes axes;
  auto next = wide.begin();
  for (size_t d = 0; d < shape.size(); ++d)
    axes.push_back(shape[d] == 1 ? static_cast<int64_t>(d) : *next++);
  return axes;
}

// `node` as a transpose of `from` that moves its wide axes in the order `wide`, and a reshape.
ValueId turned(Rewriter& to, const NewNode& node, ValueId from, const Axes& wide) {
  if (ascends(wide)) return to.add_reshape(from, node.type.shape);
  const ValueId turned = to.add_transpose(from, with_ones_fixed(wide, to.shape(from)));
  return to.add_reshape(turned, node.type.shape);
}

std::optional<ValueId> merge_transpose(Rewriter& to, const NewNode& node) {
  const ValueId operand = node.operands[0];
  const auto& axes = node.attributes.get<Axes>("axes");
  if (const Node* inner = to.producer(operand, Op::transpose)) {
    const auto& first = inner->attributes.get<Axes>("axes");
    Axes both;
    for (auto axis : axes)
      both.push_back(first[axis]);
    return to.add_transpose(inner->operands[0], std::move(both));
  }
  const Shape shape = to.shape(operand);
  const Axes wide = wide_only(axes, shape);
  const Node* inner = to.producer(operand, Op::reshape);
  if (inner && same_but_ones(to.shape(inner->operands[0]), shape)) {
    const ValueId from = inner->operands[0];
    const auto from_axes = wide_axes(to.shape(from)), own_axes = wide_axes(shape);
    Axes wide_of_from;  // the same axes, as they are numbered before the reshape
    for (auto axis : wide) {
      const auto place = std::find(own_axes.begin(), own_axes.end(), static_cast<size_t>(axis));
      wide_of_from.push_back(static_cast<int64_t>(from_axes[place - own_axes.begin()]));
    }
    return turned(to, node, from, wide_of_from);
  }
  if (!ascends(wide) && axes == with_ones_fixed(wide, shape)) return std::nullopt;
  return turned(to, node, operand, wide);
}

std::optional<ValueId> slice_of_slice(Rewriter& to, const Node& inner, std::vector<SliceRange> ranges) {
  const ValueId from = inner.operands[0];
  const auto firsts = slice_ranges(inner.attributes, to.shape(from), to.shape(inner.results[0]));
  for (size_t d = 0; d < ranges.size(); ++d) {
    ranges[d].first = firsts[d].first + ranges[d].first * firsts[d].stride;
    ranges[d].stride = ranges[d].count <= 1 ? 1 : ranges[d].stride * firsts[d].stride;
  }
  return to.add(Op::slice, {from}, slice_attributes(ranges, to.shape(from)));
}

std::optional<ValueId> slice_of_transpose(
    Rewriter& to, const Node& inner, const std::vector<SliceRange>& ranges) {
  const auto axes = inner.attributes.get<Axes>("axes");
  std::vector<SliceRange> before(ranges.size());
  for (size_t d = 0; d < axes.size(); ++d)
    before[axes[d]] = ranges[d];
  const ValueId from = inner.operands[0];
  const ValueId part = to.add(Op::slice, {from}, slice_attributes(before, to.shape(from)));
  return to.add_transpose(part, axes);
}

// Where the reshape only adds and drops axes of size 1, or the slice only cuts axes that the reshape keeps at
// the end.
std::optional<ValueId> slice_of_reshape(
    Rewriter& to, const NewNode& node, const Node& inner, const std::vector<SliceRange>& ranges) {
  const ValueId from = inner.operands[0];
  const Shape before = to.shape(from), after = to.shape(node.operands[0]);
  std::vector<SliceRange> cut;
  for (auto size : before)
    cut.push_back(whole(size));
  if (same_but_ones(before, after)) {
    const auto axes = wide_axes(before), own = wide_axes(after);
    for (size_t i = 0; i < axes.size(); ++i)
      cut[axes[i]] = ranges[own[i]];
  } else {
    const size_t kept = common_suffix(before, after);
    for (size_t d = 0; d < after.size() - kept; ++d) {
      if (ranges[d] != whole(after[d])) return std::nullopt;
    }
    std::copy(
        ranges.end() - static_cast<int64_t>(kept), ranges.end(), cut.end() - static_cast<int64_t>(kept));
  }
  return to.add_reshape(to.add(Op::slice, {from}, slice_attributes(cut, before)), node.type.shape);
}

std::optional<ValueId> merge_slice(Rewriter& to, const NewNode& node) {
  const Node* producer = to.producer(node.operands[0]);
  if (!producer || node.type.elements() == 0) return std::nullopt;
  const Node inner = *producer;
  const auto ranges = slice_ranges(node.attributes, to.shape(node.operands[0]), node.type.shape);
  switch (inner.op) {
    case Op::slice:
      return slice_of_slice(to, inner, ranges);
    case Op::transpose:
      return slice_of_transpose(to, inner, ranges);
    case Op::reshape:
      return slice_of_reshape(to, node, inner, ranges);
    default:
      return slice_of_parts(to, node, inner, ranges);
  }
}

}  // namespace

std::optional<ValueId> merge_views(Rewriter& to, const NewNode& node) {
  switch (node.op) {
    case Op::transpose:
      return merge_transpose(to, node);
    case Op::slice:
      return merge_slice(to, node);
    case Op::reshape:
      if (const Node* inner = to.producer(node.operands[0], Op::reshape))
        return to.add_reshape(inner->operands[0], node.type.shape);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace autoperfect

#include <algorithm>

#include "canonicalize/passes.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

// `a` and `b` as one slice of what both are slices of, when `b` goes on along `axis` where `a` ends.
std::optional<ValueId> joined(Rewriter& to, ValueId a, ValueId b, size_t axis) {
  const Node* first = to.producer(a, Op::slice);
  const Node* second = to.producer(b, Op::slice);
  if (!first || !second || first->operands != second->operands) return std::nullopt;
  const ValueId from = first->operands[0];
  auto ranges = slice_ranges(first->attributes, to.shape(from), to.shape(a));
  const auto next = slice_ranges(second->attributes, to.shape(from), to.shape(b));
  Range& range = ranges[axis];
  const Range& rest = next[axis];
  for (size_t d = 0; d < ranges.size(); ++d) {
    if (d != axis && ranges[d] != next[d]) return std::nullopt;
  }
  const int64_t stride = range.count > 1  ? range.stride
                         : rest.count > 1 ? rest.stride
                                          : rest.first - range.first;
  const bool goes_on = stride != 0 && rest.first == range.first + range.count * stride &&
                       (rest.count == 1 || rest.stride == stride);
  if (!goes_on) return std::nullopt;
  range.stride = stride;
  range.count += rest.count;
  return to.add(Op::slice, {from}, slice_attributes(ranges, to.shape(from)));
}

// Parts of nested concatenations along the same axis, without empty ones.
std::vector<ValueId> flat_parts(const Rewriter& to, const Draft& node, int64_t axis) {
  std::vector<ValueId> parts;
  for (auto operand : node.operands) {
    const Node* inner = to.producer(operand, Op::concatenate);
    if (inner && inner->attributes.get<int64_t>("axis") == axis) {
      parts.insert(parts.end(), inner->operands.begin(), inner->operands.end());
    } else if (to.shape(operand)[axis] != 0) {
      parts.push_back(operand);
    }
  }
  return parts;
}

}  // namespace

std::optional<ValueId> simplify_concatenations(Rewriter& to, const Draft& node) {
  if (node.op != Op::concatenate) return std::nullopt;
  const auto axis = node.attributes.get<int64_t>("axis");
  auto parts = flat_parts(to, node, axis);
  if (parts.empty()) return node.operands[0];
  std::vector<ValueId> merged{parts[0]};
  for (size_t i = 1; i < parts.size(); ++i) {
    if (auto both = joined(to, merged.back(), parts[i], static_cast<size_t>(axis))) {
      merged.back() = *both;
    } else {
      merged.push_back(parts[i]);
    }
  }
  if (merged.size() == 1) return merged[0];
  if (merged == node.operands) return std::nullopt;
  return to.add(Op::concatenate, std::move(merged), node.attributes);
}

}  // namespace autoperfect

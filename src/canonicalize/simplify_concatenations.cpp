// Concatenations and paddings.
#include <algorithm>

#include "canonicalize/parts.h"
#include "canonicalize/passes.h"
#include "canonicalize/structural_hash.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

// A padding around another of the same scalar.
std::optional<ValueId> merge_paddings(Rewriter& to, const NewNode& node, Padding padding) {
  const Node* inner = to.producer(node.operands[0], Op::pad);
  if (!inner || inner->operands[1] != node.operands[1]) return std::nullopt;
  const Padding first = padding_of(inner->attributes, padding.low.size());
  for (size_t d = 0; d < padding.low.size(); ++d) {
    padding.low[d] += first.low[d];
    padding.high[d] += first.high[d];
  }
  return to.add(Op::pad, inner->operands, pad_attributes(padding));
}

std::optional<ValueId> pad_below_transpose(Rewriter& to, const NewNode& node, const Padding& padding) {
  const Node* view = to.producer(node.operands[0], Op::transpose);
  if (!view) return std::nullopt;
  const auto axes = view->attributes.get<std::vector<int64_t>>("axes");
  Padding before = padding;
  for (size_t d = 0; d < axes.size(); ++d) {
    before.low[axes[d]] = padding.low[d];
    before.high[axes[d]] = padding.high[d];
  }
  const ValueId padded = to.add(Op::pad, {view->operands[0], node.operands[1]}, pad_attributes(before));
  return to.add_transpose(padded, axes);
}

// Below a reshape that keeps the padded axes, at the end.
std::optional<ValueId> pad_below_reshape(Rewriter& to, const NewNode& node, const Padding& padding) {
  const Node* view = to.producer(node.operands[0], Op::reshape);
  if (!view) return std::nullopt;
  const ValueId x = view->operands[0];
  const Shape &before = to.shape(x), &after = to.shape(node.operands[0]);
  const size_t kept = common_suffix(before, after), first_kept = after.size() - kept;
  Padding moved{std::vector<int64_t>(before.size(), 0), std::vector<int64_t>(before.size(), 0)};
  for (size_t d = 0; d < after.size(); ++d) {
    if (padding.low[d] == 0 && padding.high[d] == 0) continue;
    if (d < first_kept) return std::nullopt;
    moved.low[d + before.size() - after.size()] = padding.low[d];
    moved.high[d + before.size() - after.size()] = padding.high[d];
  }
  const ValueId padded = to.add(Op::pad, {x, node.operands[1]}, pad_attributes(moved));
  return to.add_reshape(padded, node.type.shape);
}

std::optional<ValueId> simplify_pad(Rewriter& to, const NewNode& node) {
  const ValueId x = node.operands[0], scalar = node.operands[1];
  const auto padding = padding_of(node.attributes, node.type.shape.size());
  Attributes attributes = pad_attributes(padding);
  const auto axes = attributes.get<std::vector<int64_t>>("axes");
  if (axes.empty()) return x;
  if (to.type(x).elements() == 0 || repeated_scalar(to, x) == scalar)
    return to.add_broadcast(scalar, node.type.shape);
  if (!same_bits(attributes, node.attributes)) return to.add(Op::pad, node.operands, std::move(attributes));
  if (auto merged = merge_paddings(to, node, padding)) return merged;
  if (auto below = pad_below_transpose(to, node, padding)) return below;
  if (auto below = pad_below_reshape(to, node, padding)) return below;
  if (axes.size() != 1) return std::nullopt;
  Parts parts(to, node.type, axes[0]);
  parts.append_repeated(scalar, padding.low[axes[0]]);
  parts.append(x);
  parts.append_repeated(scalar, padding.high[axes[0]]);
  return parts.joined(node);
}

}  // namespace

std::optional<ValueId> simplify_concatenations(Rewriter& to, const NewNode& node) {
  if (node.op == Op::pad) return simplify_pad(to, node);
  if (node.op != Op::concatenate) return std::nullopt;
  Parts parts(to, node.type, node.attributes.get<int64_t>("axis"));
  for (auto operand : node.operands)
    parts.append(operand);
  return parts.joined(node);
}

}  // namespace autoperfect

#include <algorithm>

#include "canonicalize/passes.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

Shape without_leading_ones(const Shape& shape) {
  return {std::find_if(shape.begin(), shape.end(), [](int64_t n) { return n != 1; }), shape.end()};
}

// A list of constants takes any shape; complex ones are left as they are.
bool is_respelled(const Rewriter& to, ValueId v) {
  return to.producer(v, Op::constant) && to.type(v).dtype != Dtype::c64;
}

// What a reshape, or a list of constants, may be a reshape to for an op that adds leading ones by itself up
// to `rank`: the shape it had before, if that differs by leading ones only, or the shape without them.
Shape least_shape(const Rewriter& to, ValueId v, size_t rank) {
  const Shape& shape = to.shape(v);
  if (is_respelled(to, v)) return without_leading_ones(shape);
  const Node* view = to.producer(v, Op::reshape);
  if (!view) return shape;
  const Shape& before = to.shape(view->operands[0]);
  Shape stripped = without_leading_ones(shape);
  return before.size() <= rank && without_leading_ones(before) == stripped ? before : stripped;
}

ValueId reshaped(Rewriter& to, ValueId v, Shape shape) {
  if (shape == to.shape(v)) return v;
  const Node* view = to.producer(v, Op::reshape);
  return to.add_reshape(view ? view->operands[0] : v, std::move(shape));
}

// The operands without explicit broadcasts and leading ones. Where nothing varies over the rest of the
// result, it is computed once and repeated.
std::optional<ValueId> broadcast_by_itself(Rewriter& to, const NewNode& node) {
  auto operands = node.operands;
  for (auto& operand : operands) {
    if (const Node* view = to.producer(operand, Op::broadcast)) operand = view->operands[0];
    operand = reshaped(to, operand, least_shape(to, operand, node.type.shape.size()));
  }
  if (operands == node.operands) return std::nullopt;
  return to.add_broadcast(to.add(node.op, std::move(operands), node.attributes, "_once"), node.type.shape);
}

// A contraction broadcasts all axes but the last two.
std::optional<ValueId> broadcast_batches(Rewriter& to, const NewNode& node) {
  auto operands = node.operands;
  for (auto& operand : operands) {
    const Node* view = to.producer(operand, Op::broadcast);
    if (!view) continue;
    const Shape &from = to.shape(view->operands[0]), &shape = to.shape(operand);
    const bool keeps_matrix = from.size() >= 2 && std::equal(from.end() - 2, from.end(), shape.end() - 2);
    if (keeps_matrix) operand = view->operands[0];
  }
  if (operands == node.operands) return std::nullopt;
  return to.add_broadcast(to.add(node.op, std::move(operands), node.attributes, "_once"), node.type.shape);
}

Shape with_leading_ones(const Shape& shape, size_t rank) {
  Shape padded(rank - shape.size(), 1);
  padded.insert(padded.end(), shape.begin(), shape.end());
  return padded;
}

// A view of a broadcast: the same view of what is broadcast, then broadcast.
class ViewOfBroadcast {
 public:
  ViewOfBroadcast(Rewriter& to, const NewNode& node, ValueId once)
      : to_(to),
        node_(node),
        once_(once),
        wide_(to.shape(node.operands[0])),
        narrow_(with_leading_ones(to.shape(once), wide_.size())) {}

  std::optional<ValueId> run() {
    switch (node_.op) {
      case Op::broadcast:
        return to_.add_broadcast(once_, node_.type.shape);
      case Op::transpose:
        return repeated(to_.add_transpose(padded(), node_.attributes.get<std::vector<int64_t>>("axes")));
      case Op::slice:
        return slice();
      case Op::reshape:
        return reshape();
      default:
        return std::nullopt;
    }
  }

 private:
  ValueId padded() { return to_.add_reshape(once_, narrow_); }
  ValueId repeated(ValueId v) { return to_.add_broadcast(v, node_.type.shape); }

  std::optional<ValueId> slice() {
    if (node_.type.elements() == 0) return std::nullopt;
    auto ranges = slice_ranges(node_.attributes, wide_, node_.type.shape);
    for (size_t d = 0; d < ranges.size(); ++d) {
      if (narrow_[d] == 1) ranges[d] = whole(1);
    }
    return repeated(to_.add(Op::slice, {padded()}, slice_attributes(ranges, narrow_)));
  }

  // Where it adds and drops axes of size 1, or splits and merges only axes over which nothing varies.
  std::optional<ValueId> reshape() {
    const Shape& to = node_.type.shape;
    Shape shape(to.size(), 1);
    if (same_but_ones(wide_, to)) {
      const auto from = wide_axes(wide_), axes = wide_axes(to);
      for (size_t i = 0; i < axes.size(); ++i)
        shape[axes[i]] = narrow_[from[i]];
    } else {
      const size_t before = common_prefix(wide_, to);
      const size_t after = std::min(common_suffix(wide_, to), std::min(wide_.size(), to.size()) - before);
      const auto regrouped_end = narrow_.end() - static_cast<int64_t>(after);
      if (std::any_of(narrow_.begin() + static_cast<int64_t>(before), regrouped_end, [](int64_t n) {
            return n != 1;
          }))
        return std::nullopt;
      std::copy_n(narrow_.begin(), before, shape.begin());
      std::copy_n(regrouped_end, after, shape.end() - static_cast<int64_t>(after));
    }
    return repeated(to_.add_reshape(once_, std::move(shape)));
  }

  Rewriter& to_;
  const NewNode& node_;
  ValueId once_;
  Shape wide_, narrow_;
};

// A broadcast that repeats nothing is a reshape, and needs no leading ones.
std::optional<ValueId> simplify_broadcast(Rewriter& to, const NewNode& node) {
  const ValueId operand = node.operands[0];
  if (to.type(operand).elements() == node.type.elements() &&
      same_but_ones(to.shape(operand), node.type.shape))
    return to.add_reshape(operand, node.type.shape);
  const Shape shape = least_shape(to, operand, node.type.shape.size());
  if (shape == to.shape(operand)) return std::nullopt;
  return to.add_broadcast(reshaped(to, operand, shape), node.type.shape);
}

}  // namespace

std::optional<ValueId> make_broadcasts_implicit(Rewriter& to, const NewNode& node) {
  if (node.operands.empty()) return std::nullopt;
  if (class_of(node.op) == OpClass::elementwise) return broadcast_by_itself(to, node);
  if (node.op == Op::matmul) return broadcast_batches(to, node);
  if (class_of(node.op) != OpClass::view) return std::nullopt;
  if (const Node* inner = to.producer(node.operands[0], Op::broadcast))
    return ViewOfBroadcast(to, node, inner->operands[0]).run();
  return node.op == Op::broadcast ? simplify_broadcast(to, node) : std::nullopt;
}

}  // namespace autoperfect

// Sums of values that lie beside one another among zeros, as gradients of slices are: one value of both.
#include <algorithm>
#include <cmath>

#include "canonicalize/parts.h"
#include "canonicalize/passes.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

bool is_zero(const Rewriter& to, ValueId v) {
  const auto number = constant_number(to, v);
  return number && *number == 0 && !std::signbit(*number) && to.shape(v).empty();
}

// `value` at a box of a larger array, zeros elsewhere.
struct Placed {
  ValueId value = -1, zero = -1;
  std::vector<SliceRange> box;
};

ValueId concatenated(Rewriter& to, std::vector<ValueId> parts, size_t axis) {
  if (parts.size() == 1) return parts[0];
  Attributes along;
  along.set("axis", static_cast<int64_t>(axis));
  return to.add(Op::concatenate, std::move(parts), std::move(along), "_parts");
}

Placed padded(const Rewriter& to, const Node& node, const Shape& shape) {
  Placed found{node.operands[0], node.operands[1], {}};
  const auto padding = padding_of(node.attributes, shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    found.box.push_back({padding.low[d], 1, to.shape(found.value)[d]});
  return found;
}

std::optional<Placed> assigned(const Rewriter& to, const Node& node, const Shape& shape) {
  const auto scalar = repeated_scalar(to, node.operands[0]);
  if (!scalar || node.attributes.has("reduce")) return std::nullopt;
  const ValueId update = node.operands[1];
  return Placed{update, *scalar, slice_ranges(node.attributes, shape, to.shape(update))};
}

// Several parts between zeros.
std::optional<Placed> between(Rewriter& to, const Node& node, const Shape& shape) {
  const auto axis = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  std::vector<ValueId> parts = node.operands;
  Placed found;
  for (auto size : shape)
    found.box.push_back(whole(size));
  auto cut = [&](ValueId part) {
    const auto scalar = repeated_scalar(to, part);
    if (!scalar || !is_zero(to, *scalar)) return false;
    found.zero = *scalar;
    found.box[axis].count -= to.shape(part)[axis];
    return true;
  };
  if (cut(parts.back())) parts.pop_back();
  if (cut(parts.front())) {
    found.box[axis].first = to.shape(parts.front())[axis];
    parts.erase(parts.begin());
  }
  if (found.zero < 0 || parts.empty()) return std::nullopt;
  found.value = concatenated(to, std::move(parts), axis);
  return found;
}

// Also where 0 was added since: that is what became of a negative zero.
std::optional<Placed> placed(Rewriter& to, ValueId v) {
  if (const Node* sum = to.producer(v, Op::add); sum && is_zero(to, sum->operands[1])) v = sum->operands[0];
  const Node* producer = to.producer(v);
  const bool may_place = producer && (producer->op == Op::pad || producer->op == Op::slice_update ||
                                      producer->op == Op::concatenate);
  if (!may_place) return std::nullopt;
  const Node node = *producer;  // others are added
  const Shape shape = to.shape(v);
  std::optional<Placed> found;
  if (node.op == Op::pad) found = padded(to, node, shape);
  if (node.op == Op::slice_update) found = assigned(to, node, shape);
  if (node.op == Op::concatenate) found = between(to, node, shape);
  if (!found || !is_zero(to, found->zero)) return std::nullopt;
  return found;
}

// Elements in turn: each on an axis of its own, which is then flat.
ValueId interleaved(Rewriter& to, ValueId a, ValueId b, size_t axis) {
  Shape column = to.shape(a), flat = column;
  column.insert(column.begin() + static_cast<int64_t>(axis) + 1, 1);
  flat[axis] *= 2;
  const ValueId first = to.add_reshape(a, column), second = to.add_reshape(b, column);
  return to.add_reshape(concatenated(to, {first, second}, axis + 1), std::move(flat));
}

// Of two in the order of their first elements; nothing where there is room between them, or they overlap.
std::optional<Placed> joined(Rewriter& to, const Placed& a, const Placed& b, size_t axis) {
  const SliceRange &first = a.box[axis], &second = b.box[axis];
  Placed both = a;
  if (first.stride == 1 && second.stride == 1) {
    const Node* node = to.producer(a.value, Op::concatenate);
    const bool is_long = node && node->operands.size() >= most_parts;
    if (first.first + first.count != second.first || is_long) return std::nullopt;
    both.box[axis].count += second.count;
    both.value = concatenated(to, {a.value, b.value}, axis);
  } else {
    const bool takes_turns = first.stride == 2 && second.stride == 2 && first.first + 1 == second.first &&
                             first.count == second.count;
    if (!takes_turns) return std::nullopt;
    both.box[axis] = {first.first, 1, 2 * first.count};
    both.value = interleaved(to, a.value, b.value, axis);
  }
  return both;
}

}  // namespace

std::optional<ValueId> join_summands(Rewriter& to, const NewNode& node) {
  const Dtype dtype = node.type.dtype;
  if (node.op != Op::add || dtype == Dtype::bool_ || dtype == Dtype::c64) return std::nullopt;
  auto a = placed(to, node.operands[0]), b = placed(to, node.operands[1]);
  const Shape shape = node.type.shape;
  if (!a || !b || to.shape(node.operands[0]) != shape || to.shape(node.operands[1]) != shape)
    return std::nullopt;
  const auto axis = differing_axis(a->box, b->box);
  if (!axis) return std::nullopt;
  if (b->box[*axis].first < a->box[*axis].first) std::swap(a, b);
  const auto both = joined(to, *a, *b, *axis);
  if (!both) return std::nullopt;
  const ValueId field = to.add_broadcast(both->zero, shape);
  const ValueId sum = to.add(Op::slice_update, {field, both->value}, slice_attributes(both->box, shape));
  if (!is_floating(dtype)) return sum;
  return to.add(Op::add, {sum, both->zero});
}

}  // namespace autoperfect

#include <algorithm>

#include "canonicalize/passes.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

using Axes = std::vector<int64_t>;

bool is_one_element(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n == 1; });
}

Shape suffix(const Shape& shape, size_t count) {
  return {shape.end() - static_cast<int64_t>(count), shape.end()};
}
Shape prefix(const Shape& shape, size_t dropped) {
  return {shape.begin(), shape.end() - static_cast<int64_t>(dropped)};
}
Shape joined(Shape a, const Shape& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A reshape [before..., kept...] -> [after..., kept...].
struct Regrouping {
  Shape before, after;
  size_t kept = 0;
};

Regrouping regrouping_of(const Shape& from, const Shape& to) {
  const size_t kept = common_suffix(from, to);
  return {prefix(from, kept), prefix(to, kept), kept};
}

// The operand as it is before the regrouping: what it is a reshape of, or itself where it only varies over
// kept axes.
std::optional<ValueId> before_regrouping(const Rewriter& to, ValueId v, const Regrouping& grouping) {
  const Shape& shape = to.shape(v);
  const Node* view = to.producer(v, Op::reshape);
  const bool fits = view && shape.size() == grouping.after.size() + grouping.kept &&
                    prefix(shape, grouping.kept) == grouping.after &&
                    to.shape(view->operands[0]) == joined(grouping.before, suffix(shape, grouping.kept));
  if (fits) return view->operands[0];
  if (shape.size() <= grouping.kept) return v;
  return std::nullopt;
}

std::optional<ValueId> sink_reshape(Rewriter& to, const NewNode& node) {
  if (node.type.elements() == 0) return std::nullopt;
  for (auto operand : node.operands) {
    const Node* view = to.producer(operand, Op::reshape);
    if (!view || to.shape(operand) != node.type.shape) continue;
    const auto grouping = regrouping_of(to.shape(view->operands[0]), node.type.shape);
    std::vector<ValueId> operands;
    for (auto other : node.operands) {
      const auto before = before_regrouping(to, other, grouping);
      if (!before) return std::nullopt;
      operands.push_back(*before);
    }
    const ValueId result = to.add(node.op, std::move(operands), node.attributes, "_flat");
    return to.add_reshape(result, node.type.shape);
  }
  return std::nullopt;
}

// All operands are transposed by the same axes, or are one element.
std::optional<ValueId> sink_transpose(Rewriter& to, const NewNode& node) {
  const Axes* axes = nullptr;
  std::vector<ValueId> operands;
  for (auto operand : node.operands) {
    const Node* view = to.producer(operand, Op::transpose);
    if (!view) {
      const bool varies =
          !is_one_element(to.shape(operand)) || to.shape(operand).size() > node.type.shape.size();
      if (varies) return std::nullopt;
      operands.push_back(operand);
      continue;
    }
    const auto& own = view->attributes.get<Axes>("axes");
    if (own.size() != node.type.shape.size() || (axes && *axes != own)) return std::nullopt;
    axes = &own;
    operands.push_back(view->operands[0]);
  }
  if (!axes) return std::nullopt;
  const Axes all = *axes;
  return to.add_transpose(to.add(node.op, std::move(operands), node.attributes, "_straight"), all);
}

// A reduction of axes that the reshape keeps.
std::optional<ValueId> sink_below_reduction(Rewriter& to, const NewNode& node) {
  const ValueId operand = node.operands[0];
  const Node* view = to.producer(operand, Op::reshape);
  if (!view || node.type.elements() == 0 || to.type(operand).elements() == 0) return std::nullopt;
  const ValueId from = view->operands[0];
  const auto grouping = regrouping_of(to.shape(from), to.shape(operand));
  const auto first_kept = static_cast<int64_t>(grouping.after.size());
  const int64_t shift = static_cast<int64_t>(grouping.before.size()) - first_kept;
  Attributes attributes = node.attributes;
  if (attributes.has("axis")) {
    const auto axis = attributes.get<int64_t>("axis");
    if (axis < first_kept) return std::nullopt;
    attributes.set("axis", axis + shift);
  } else {
    auto axes = attributes.get<Axes>("axes");
    for (auto& axis : axes) {
      if (axis < first_kept) return std::nullopt;
      axis += shift;
    }
    if (axes.empty()) return std::nullopt;
    attributes.set("axes", std::move(axes));
  }
  return to.add_reshape(to.add(node.op, {from}, std::move(attributes), "_flat"), node.type.shape);
}

}  // namespace

std::optional<ValueId> sink_views(Rewriter& to, const NewNode& node) {
  switch (class_of(node.op)) {
    case OpClass::elementwise: {
      if (auto sunk = sink_reshape(to, node)) return sunk;
      return sink_transpose(to, node);
    }
    case OpClass::reduction:
      return sink_below_reduction(to, node);
    default:
      return std::nullopt;
  }
}

}  // namespace autoperfect

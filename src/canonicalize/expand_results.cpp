// Nodes of several results that are as many nodes of one.
#include "canonicalize/composer.h"
#include "canonicalize/passes.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

std::vector<ValueId> expand_split(Rewriter& to, const Graph& source, const Node& node) {
  const auto axis = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  const auto& starts = node.attributes.get<std::vector<int64_t>>("indices");
  const ValueId operand = to.of(node.operands[0]);
  std::vector<SliceRange> ranges;
  for (auto size : to.shape(operand))
    ranges.push_back(whole(size));
  std::vector<ValueId> parts;
  for (size_t i = 0; i < node.results.size(); ++i) {
    const int64_t count = source.type(node.results[i]).shape[axis];
    const int64_t start = i == 0 ? 0 : starts[i - 1];
    ranges[axis] = {start < 0 ? start + to.shape(operand)[axis] : start, 1, count};
    if (count == 0) ranges[axis].first = 0;
    parts.push_back(to.add(Op::slice, {operand}, slice_attributes(ranges, to.shape(operand))));
  }
  return parts;
}

}  // namespace

namespace {

// Gradients of library functions that MLX keeps whole on a GPU. Those of nothing stay.
std::vector<ValueId> expand_gradient(Rewriter& to, const Graph& source, const Node& node) {
  NewNode draft{node.op, {}, node.attributes, source.type(node.results[0])};
  for (auto operand : node.operands)
    draft.operands.push_back(to.of(operand));
  for (auto operand : draft.operands) {
    if (to.type(operand).elements() == 0) return {};
  }
  if (node.op == Op::scaled_dot_product_attention) return lower_attention_with_logsumexp(to, draft);
  if (node.op == Op::scaled_dot_product_attention_vjp) return lower_attention_vjp(to, draft);
  return lower_norm_vjp(to, draft);
}

}  // namespace

// A custom function hands on what it computed: its last operands.
std::vector<ValueId> expand_results(Rewriter& to, const Graph& source, const Node& node) {
  switch (node.op) {
    case Op::split:
      return expand_split(to, source, node);
    case Op::divmod: {
      const ValueId a = to.of(node.operands[0]), b = to.of(node.operands[1]);
      return {
          to.add(Op::floor_divide, {a, b}, {}, "_quotient"), to.add(Op::remainder, {a, b}, {}, "_remainder")};
    }
    case Op::custom_transforms: {
      std::vector<ValueId> handed_on;
      for (size_t i = node.operands.size() - node.results.size(); i < node.operands.size(); ++i)
        handed_on.push_back(to.of(node.operands[i]));
      return handed_on;
    }
    case Op::scaled_dot_product_attention:
      if (node.results.size() == 1) return {};
      return expand_gradient(to, source, node);
    case Op::rms_norm_vjp:
    case Op::layer_norm_vjp:
    case Op::scaled_dot_product_attention_vjp:
      return expand_gradient(to, source, node);
    default:
      return {};
  }
}

}  // namespace autoperfect

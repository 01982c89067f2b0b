// Nodes of several results that are as many nodes of one.
#include "canonicalize/passes.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

std::vector<ValueId> expand_split(Rewriter& to, const Graph& source, const Node& node) {
  const auto axis = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  const auto& starts = node.attributes.get<std::vector<int64_t>>("indices");
  const ValueId operand = to.of(node.operands[0]);
  std::vector<Range> ranges;
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
    default:
      return {};
  }
}

}  // namespace autoperfect

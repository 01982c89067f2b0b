#include <algorithm>

#include "canonicalize/passes.h"

namespace autoperfect {

namespace {

struct Default {
  const char* name;
  AttributeValue value;
};

const Default defaults[] = {
    {"keepdims", false},
    {"nan_equal", false},
    {"precise", false},
    {"ddof", int64_t{0}},
};

void leave_out_defaults(Attributes& attributes) {
  for (const auto& [name, value] : defaults) {
    const auto* found = attributes.find(name);
    if (found && *found == value) attributes.erase(name);
  }
}

// Of each dimension: the first element, one past the last in the direction of the stride, and stride 1 where
// at most one element is taken. A backward slice that ends with element 0 stops at -(n + 1): -1 would mean
// the end.
Attributes normal_slice(const Attributes& attributes, const Shape& from, const Shape& to) {
  auto start = attributes.get<std::vector<int64_t>>("start");
  auto strides = attributes.get<std::vector<int64_t>>("strides");
  std::vector<int64_t> stop(from.size());
  for (size_t d = 0; d < from.size(); ++d) {
    const int64_t n = from[d], count = to[d];
    if (start[d] < 0) start[d] += n;
    start[d] = count == 0 ? 0 : strides[d] < 0 ? std::min(start[d], n - 1) : std::max<int64_t>(start[d], 0);
    if (count <= 1) strides[d] = 1;
    if (count == 0) continue;
    const int64_t last = start[d] + (count - 1) * strides[d];
    stop[d] = strides[d] > 0 ? last + 1 : last > 0 ? last - 1 : -(n + 1);
  }
  Attributes normal;
  normal.set("start", std::move(start));
  normal.set("stop", std::move(stop));
  normal.set("strides", std::move(strides));
  return normal;
}

}  // namespace

Rewrite normalize_attributes(const Graph& source) {
  Rewriter to(source);
  for (const auto& node : source.nodes) {
    Node normal = node;
    if (node.op != Op::opaque) leave_out_defaults(normal.attributes);
    auto operands = to.of(node.operands);
    if (node.op == Op::slice) {
      const Shape& from = source.type(node.operands[0]).shape;
      normal.attributes = normal_slice(node.attributes, from, source.type(node.results[0]).shape);
    } else if (node.op == Op::full) {
      normal.op = Op::broadcast;
    } else if (is_commutative(node.op)) {
      const Node* first = to.producer(operands[0]);
      const Node* second = to.producer(operands[1]);
      const bool first_is_constant = first && first->op == Op::constant;
      if (first_is_constant && !(second && second->op == Op::constant)) std::swap(operands[0], operands[1]);
    }
    to.keep(normal, std::move(operands));
  }
  return std::move(to).finish();
}

}  // namespace autoperfect

#include <algorithm>
#include <unordered_map>

#include "canonicalize/passes.h"
#include "ir/attribute_text.h"

namespace autoperfect {

namespace {

// Text that two nodes share exactly when they compute the same: -0.0 and 0.0 differ in it, NaN is NaN.
std::string key_of(const Node& node, std::vector<ValueId> operands, const TensorType& type) {
  if (is_commutative(node.op)) std::sort(operands.begin(), operands.end());
  std::string key(name(node.op));
  for (auto operand : operands)
    key += " %" + std::to_string(operand);
  append_attributes(key, node.attributes);
  key += ":" + std::string(name(type.dtype));
  for (auto size : type.shape)
    key += "," + std::to_string(size);
  return key;
}

}  // namespace

Rewrite merge_common(const Graph& source) {
  Rewriter to(source);
  std::unordered_map<std::string, ValueId> seen;
  for (const auto& node : source.nodes) {
    if (class_of(node.op) == OpClass::barrier || node.results.size() != 1) {
      to.keep(node);
      continue;
    }
    const ValueId result = node.results[0];
    const std::string key = key_of(node, to.of(node.operands), source.type(result));
    if (auto found = seen.find(key); found != seen.end()) {
      to.replace(result, found->second);
      continue;
    }
    to.keep(node);
    seen.emplace(key, to.of(result));
  }
  return std::move(to).finish();
}

}  // namespace autoperfect

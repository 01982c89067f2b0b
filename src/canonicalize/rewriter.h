// How every pass is written: walk the source graph in order, keep or replace its values, get the new graph
// and where each value went. Names of the source survive; new values get names no value of the source has.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace autoperfect {

struct Rewrite {
  Graph graph;
  std::vector<ValueId> value_of;  // of each value of the source, or -1
};

class Rewriter {
 public:
  explicit Rewriter(const Graph& source);  // the new graph has all inputs of the source, used or not

  const Graph& graph() const { return graph_; }
  const TensorType& type(ValueId v) const { return graph_.type(v); }
  const Node* producer(ValueId v) const { return graph_.producer(v); }

  // Where a value of the source is in the new graph.
  ValueId of(ValueId source) const { return value_of_[source]; }
  std::vector<ValueId> of(const std::vector<ValueId>& source) const;

  void keep(const Node& node) { keep(node, of(node.operands)); }
  void keep(
      const Node& node, std::vector<ValueId> operands);  // the same node on other operands of the new graph
  void replace(ValueId source, ValueId by) { value_of_[source] = by; }

  // A new node of one result. `name` is a wish; `result_of` a value of the source that is this result.
  ValueId add(Op op, std::vector<ValueId> operands, Attributes attributes = {}, const std::string& name = "");
  ValueId add_as(ValueId result_of, Op op, std::vector<ValueId> operands, Attributes attributes = {});
  ValueId add_constant(double value, Dtype dtype, const std::string& name = "c");

  Rewrite finish() &&;

 private:
  ValueId append(Node node, TensorType type, std::string name, int result);
  std::string fresh_name(const std::string& wanted);

  const Graph& source_;
  Graph graph_;
  std::vector<ValueId> value_of_;
  std::unordered_set<std::string> names_;
};

using Pass = Rewrite (*)(const Graph&);

}  // namespace autoperfect

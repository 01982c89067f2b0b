// One walk over a graph that writes its normal form. Every node of the source, and every node that a rule
// asks for, goes through all rules first; what no rule rewrites is appended, or is the equal node that is
// there already. So what a rule reads of the new graph is in normal form, each node is looked at once, and
// the walk is linear in the size of the graph. Names of the source survive; new values get names no value of
// the source has.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace autoperfect {

struct Rewrite {
  Graph graph;
  std::vector<ValueId> value_of;  // of each value of the source, or -1
  bool changed = false;           // the text of `graph` is not that of the source
};

// A node that is about to be added, on operands of the new graph.
struct NewNode {
  Op op = Op::opaque;
  std::vector<ValueId> operands;
  Attributes attributes;
  TensorType type;
};

class Rewriter;

// Another value that is the same tensor, made by Rewriter::add; nothing where the rule has nothing to say. It
// must keep every bit in exact dtype semantics, look only at what leads to the operands, and never give back
// the draft itself.
using Rule = std::optional<ValueId> (*)(Rewriter& to, const NewNode& node);

// The same for a node of any number of results: one value each; none where it stays.
using Expansion = std::vector<ValueId> (*)(Rewriter& to, const Graph& source, const Node& node);

struct Rules {
  std::vector<Rule> rules;
  std::vector<Expansion> expansions;
  bool merges = false;  // equal nodes on equal operands become one
};

class Rewriter {
 public:
  // For rules. References into the graph last until the next add().
  const TensorType& type(ValueId v) const { return graph_.type(v); }
  const Shape& shape(ValueId v) const { return graph_.type(v).shape; }
  const Node* producer(ValueId v) const { return graph_.producer(v); }
  const Node* producer(ValueId v, Op op) const;  // only where it is this op
  ValueId of(ValueId source) const { return value_of_[source]; }

  // The value of a node, through all rules. `suffix` is for its name, after that of the node being rewritten;
  // none: that of the node whose rule asks.
  ValueId add(Op op, std::vector<ValueId> operands, Attributes attributes = {}, std::string_view suffix = {});
  ValueId add_constant(double value, Dtype dtype, std::string_view suffix = {});
  ValueId add_cast(ValueId v, Dtype dtype, std::string_view suffix = {});
  ValueId add_reshape(ValueId v, Shape shape, std::string_view suffix = {});
  ValueId add_broadcast(ValueId v, Shape shape, std::string_view suffix = {});
  ValueId add_transpose(ValueId v, std::vector<int64_t> axes, std::string_view suffix = {});

  // The order of two operands where either order gives the same bits: it depends on what they are, not on
  // when they were captured. Constants last, larger ones first, longer computations first.
  bool precedes(ValueId a, ValueId b) const;

 private:
  friend Rewrite rewrite(const Graph& source, const Rules& rules);

  struct Fact {
    uint64_t hash = 0;
    int32_t depth = 0;   // of the computation that leads here
    int32_t input = -1;  // which argument
  };

  Rewriter(const Graph& source, const Rules& rules);
  Rewrite run() &&;
  void copy_inputs();
  void visit(const Node& node);
  bool expand(const Node& node);
  void keep_several(const Node& node);
  std::optional<ValueId> rewritten(const NewNode& draft);
  std::optional<ValueId> find_equal(const NewNode& draft, uint64_t hash) const;
  uint64_t hash_of_draft(const NewNode& draft) const;
  int32_t depth_of(const std::vector<ValueId>& operands) const;
  ValueId append(NewNode draft, uint64_t hash, std::string name);
  void take_name(ValueId v, ValueId source, size_t first_new);
  std::string fresh_name(std::string_view suffix);

  const Graph& source_;
  const Rules& rules_;
  Graph graph_;
  std::vector<ValueId> value_of_;
  std::vector<Fact> facts_;  // of each value of the new graph
  std::unordered_multimap<uint64_t, ValueId> by_hash_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> last_suffix_;
  std::string_view prefix_ = "t";      // name of the node being rewritten
  std::string_view suffix_ = "_part";  // of the node that is being added
  Where where_;
  bool changed_ = false;
};

Rewrite rewrite(const Graph& source, const Rules& rules);

}  // namespace autoperfect

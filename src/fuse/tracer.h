// The state of a trace while it is made. The order of the work is that of run() in trace.cpp.
#pragma once

#include <unordered_map>

#include "fuse/trace.h"
#include "ir/landings.h"

namespace autoperfect {

class Tracer {
 public:
  Tracer(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<ValueId>& outputs)
      : graph_(graph), nodes_(nodes), outputs_(outputs), wanted_(nodes.size()) {}

  std::variant<Trace, Refusal> run();

 private:
  // Making instances, the last node first.
  void visit(size_t n);
  void store(size_t n, std::vector<int>& made);
  void store_parts(const Node& node);
  bool covers(const IndexMap& map, const Shape& shape) const;
  std::string why_not_twice(const Node& node, const std::vector<int>& made) const;
  int add_instance(NodeId node, IndexMap map);
  int demand(ValueId value, IndexMap map);
  IndexMap fresh_map(const Shape& shape);
  std::vector<AxisId> axes_of(const IndexMap& map) const;

  // What an instance reads, by op (trace_operands.cpp).
  void expand(int instance);
  void expand_elementwise(const Node& node, int instance);
  void expand_reduction(const Node& node, int instance);
  void expand_scan(const Node& node, int instance);
  void expand_matmul(const Node& node, int instance);
  void expand_concatenate(const Node& node, int instance);
  void add_operand_inside(int instance, ValueId value, IndexMap map);
  void expand_pad(const Node& node, int instance);
  void expand_slice_update(const Node& node, int instance);
  void expand_gather(const Node& node, int instance);
  void expand_gather_axis(const Node& node, int instance);
  void add_operand(int instance, ValueId value, IndexMap map);
  // Scatters, from their results (trace_scatter.cpp).
  void expand_scatter(const Node& node, int instance);
  void add_landing(const Node& node, int instance, const Landings& landings, const IndexMap& at);
  bool stays_an_index(ValueId index, int64_t size) const;

  // The loops (trace_loops.cpp).
  void share_loads();
  void share_loops();
  void resolve();
  void order_instances();
  std::vector<AxisId> widest() const;
  void number_axes();
  void find_inputs();
  bool holds(OpClass op_class) const;
  void check_mixture();
  void find_kind();

  void refuse(std::string reason) {
    if (refusal_.empty()) refusal_ = std::move(reason);
  }
  int position_of(ValueId value) const;  // in nodes_, -1 when computed elsewhere
  bool is_output(ValueId value) const;
  void resolve(IndexMap& map) const;

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const std::vector<ValueId>& outputs_;
  AxisSpace space_;
  std::vector<std::vector<int>> wanted_;  // per node: demands on its result
  int64_t landings_ = 0;                  // of all scatters
  std::string refusal_;
  Trace trace_;
};

}  // namespace autoperfect

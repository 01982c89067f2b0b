// Growth of regions. A unit is a part of the graph that runs as one step; edges between units go to strictly
// higher levels, so that no order of merging below can form a cycle:
//
//   place        each node joins the units that made its operands last
//   sink         a unit moves down into the one that reads it first
//   recompute    what is cheap to compute again is, where it is read (recompute.cpp)
//   join         units of one level that read the same, or do the same to different tensors (join.cpp)
//
// Every step asks trace() whether the union is one kernel.
#pragma once

#include <string>
#include <vector>

#include "fuse/flow.h"
#include "fuse/fuse.h"

namespace autoperfect {

// More than this make a kernel that runs out of registers for its pointers.
constexpr size_t most_buffers = 24;

struct Unit {
  std::vector<NodeId> nodes;   // ascending, without views; empty when it was merged into another
  std::vector<NodeId> copies;  // those of the nodes that another unit computes as well, ascending
  int level = 0;
  bool fusable = true;
  bool plain = false;          // elementwise ops on operands of one shape: any two of them are one kernel
  std::vector<ValueId> reads;  // from elsewhere, ascending, views seen through
};

class Growth {
 public:
  Growth(const Graph& graph, const Target& target, const FuseOptions& options);
  void run();

  const Flow& flow() const { return flow_; }
  const std::vector<Unit>& units() const { return units_; }
  // What a unit must hand out: values that are read elsewhere or returned.
  std::vector<ValueId> outputs_of(int unit) const;
  int unit_of(NodeId node) const { return unit_of_[node]; }
  // Why a node is not in the unit of what it reads; empty when nothing was refused.
  const std::string& refusal(NodeId node) const { return refusals_[node]; }

 private:
  void place(NodeId id);
  void start(NodeId id, int level, bool fusable);
  std::string join(int unit, const std::vector<int>& latest);
  void sink();
  void recompute();
  std::vector<NodeId> cheap_cone(int unit, ValueId value) const;
  bool recompute_value(int unit, ValueId value);
  void prune(int unit);
  void delay_levels();
  void join_readers();
  void join_alike();

  std::string why_not(const std::vector<NodeId>& nodes) const;
  std::string why_not(const Unit& unit) const;
  std::string why_too_large(const Unit& unit) const;
  bool may_lose(const std::vector<int>& units, const Unit& together) const;
  std::string why_no_gain(const std::vector<int>& units, const Unit& together) const;
  Unit union_of(const Unit& a, const Unit& b) const;
  void absorb(int into, int from, Unit together);
  bool merge(int into, int from);
  bool contains(int unit, NodeId node) const;
  std::vector<int> reader_units(ValueId value) const;  // units that read it from memory, ascending
  std::vector<ValueId> unit_reads(int unit) const;     // from elsewhere, ascending
  bool is_plain(NodeId id) const;
  bool extends(const Unit& unit, NodeId id) const;

  const Graph& graph_;
  const Target& target_;
  const FuseOptions& options_;
  Uses uses_;
  Flow flow_;
  std::vector<bool> is_constant_;  // per node: the same in every call
  std::vector<Unit> units_;
  std::vector<int> unit_of_;                 // per node: the unit that computes it, -1: none
  std::vector<std::vector<int>> copied_to_;  // per node: units that compute it again
  std::vector<std::string> refusals_;        // per node
};

}  // namespace autoperfect

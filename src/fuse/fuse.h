// Which parts of a canonical graph become one kernel. fuse() finds legal regions (each with its reason, each
// edge where it stopped with a reason too) and keeps those the cost gate says can win. Deterministic; never
// changes the graph.
#pragma once

#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/graph.h"

namespace autoperfect {

enum class RegionKind : uint8_t { elementwise, row_reduction, full_reduction, column_reduction };
std::string_view name(RegionKind kind);

struct Region {
  RegionKind kind = RegionKind::elementwise;
  std::vector<NodeId> nodes;  // ascending
  std::vector<ValueId>
      inputs;  // read from outside, in order of first use; views of them are folded into loads
  std::vector<ValueId> outputs;  // read outside or returned, ascending
  std::string reason;            // why it is legal
  RegionCost cost;
};

// An edge where a region stopped growing, and why.
struct Stop {
  NodeId producer = -1;
  NodeId consumer = -1;
  std::string reason;
};

struct Plan {
  std::vector<Region> regions;   // disjoint, in topological order
  std::vector<Region> declined;  // legal, but the cost gate expects no gain; reason says so
  std::vector<Stop> stops;
};

struct FuseOptions {
  bool gate_by_cost = true;  // false: keep every legal region of two or more nodes (tests)
};

Plan fuse(const Graph& graph, const Target& target, const FuseOptions& options = {});

}  // namespace autoperfect

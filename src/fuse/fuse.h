// Which parts of a canonical graph become one kernel. fuse() finds legal regions (each with its reason, each
// edge where it stopped with a reason too) and keeps those the cost gate says can win. Deterministic; never
// changes the graph.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "fuse/recognize_attention.h"
#include "ir/graph.h"

namespace autoperfect {

enum class RegionKind : uint8_t {
  elementwise,
  row_reduction,
  full_reduction,
  column_reduction,
  scan,
  contraction
};
std::string_view name(RegionKind kind);
std::vector<RegionKind> all_region_kinds();

struct Region {
  RegionKind kind = RegionKind::elementwise;
  std::vector<NodeId> nodes;       // ascending, with the views folded into its loads
  std::vector<NodeId> recomputed;  // those of them that another region, too, computes
  std::vector<ValueId> inputs;     // read from outside, in order of first use
  std::vector<ValueId> outputs;    // read outside or returned, ascending
  std::string reason;              // why it is legal
  RegionCost cost;
};

// An edge where a region stopped growing, and why.
struct Stop {
  NodeId producer = -1;
  NodeId consumer = -1;
  std::string reason;
};

struct Plan {
  std::vector<Region> regions;   // in an order in which they can run
  std::vector<Region> declined;  // legal, but the cost gate expects no gain; reason says so
  std::vector<Stop> stops;
  std::vector<AttentionMatch> attentions;  // what a library function could run as one
};

struct FuseOptions {
  bool gate_by_cost = true;  // false: keep every legal region (tests)
  int most_ops = 128;        // of a region; more make a kernel that spills registers and compiles slowly
  std::vector<NodeId> in_library = {};  // ascending: run as fast.scaled_dot_product_attention, in no region
  bool recompute = true;                // false: what two regions need is computed once, and lies in memory
  // Whether there is a way to write a kernel for the region. Where there is none, the region is cut around
  // what is neither elementwise nor a reduction. Absent: there always is.
  std::function<bool(const Graph&, const Region&)> can_generate;
};

Plan fuse(const Graph& graph, const Target& target, const FuseOptions& options = {});

// Every violation of the invariants of a plan, listed at the head of verify_plan.cpp.
std::vector<Diagnostic> verify(const Graph& graph, const Plan& plan);

}  // namespace autoperfect

// What work costs: bytes moved, flops, live bytes, launches, roofline time, against the description of a
// target. First gate only; measurement decides.
//
// A region is given by its nodes (ascending), what it reads and what it hands out. Costs are those of one
// kernel, and of the MLX ops that would do the same. Nothing here knows what is legal; see fuse.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cost/target.h"
#include "ir/graph.h"

namespace autoperfect {

// What a kernel spends its time on.
enum class Bound : uint8_t { launch, memory, compute };
std::string_view name(Bound bound);

// How large a kernel is, for hard caps and penalties.
struct Footprint {
  int ops = 0;            // views and constants not counted
  int buffers = 0;        // read and written
  int live_vectors = 0;   // most values of the loop body alive at once
  int sweeps = 1;         // times it walks its rows: once more after each reduction that later ops need
  int64_t row_bytes = 0;  // that should stay in a core's cache between sweeps
};

struct RegionCost {
  int64_t bytes_read = 0, bytes_written = 0;  // by the fused kernel
  int64_t bytes_saved = 0;                    // intermediates MLX would write and read again
  int64_t bytes_reread = 0;                   // by later sweeps over rows that do not fit the cache
  double flops = 0;                           // vector instructions times lanes; 2 a step of a matrix product
  double contraction_flops = 0;               // the part of matrix products, which is in flops too
  double spill_seconds = 0;                   // of values that registers do not hold
  double memory_seconds = 0, compute_seconds = 0;
  double fused_seconds = 0, unfused_seconds = 0;  // predicted
  Bound bound = Bound::memory;
  Footprint footprint;
};

RegionCost cost_of(
    const Graph& graph,
    const std::vector<NodeId>& nodes,
    const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs,
    const Target& target);

// Empty, or why a scatter should not be computed from its result, each element looking at every update that
// may be for it: that alone takes longer than MLX's op.
std::string why_not_pulled(const Graph& graph, const Node& scatter, const Target& target);

// Empty, or why the region is not worth a kernel: it gains too little, or it is a matrix product that fusing
// what stands around it hardly moves.
std::string why_not_worth(const RegionCost& cost, const Target& target);

// Empty, or why the kernel would be too large to run or compile well.
std::string why_too_large(const Footprint& footprint, const Target& target);

// The question of greedy growth: what is gained when disjoint sets of nodes become one kernel. None of them
// may depend on another through a node outside. Views between the nodes may be left out, as they are folded
// into loads.
struct MergeGain {
  double gain_seconds = 0;     // trips to memory and launches saved
  double penalty_seconds = 0;  // spills, rows that leave the cache, more streams than prefetchers follow
  std::string refusal;         // of a hard cap; empty: none
  bool worth() const { return refusal.empty() && gain_seconds > penalty_seconds; }
};

MergeGain merge_gain(
    const Graph& graph,
    const Uses& uses,
    const std::vector<std::vector<NodeId>>& parts,
    const Target& target);

// Most bytes alive at once when the graph runs node by node with each value freed after its last use. Groups
// of nodes run as one: what they make only for themselves never exists. Inputs count throughout.
int64_t peak_live_bytes(const Graph& graph, const std::vector<std::vector<NodeId>>& groups = {});

// MLX's time for the whole graph, op by op.
double unfused_seconds(const Graph& graph, const Target& target);

}  // namespace autoperfect

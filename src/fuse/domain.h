// The iteration space of a region: which axis each dimension of each value runs over. Found by unification:
// operands of an elementwise op share axes, a reduction removes some, a view of an input renames or
// re-indexes its dimensions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "fuse/fuse.h"
#include "ir/graph.h"

namespace autoperfect {

struct Domain {
  std::vector<int64_t> sizes;  // per axis, in order (that of the value that spans them all)
  std::vector<bool> reduced;   // per axis: every reduction of the region runs over exactly these
  std::map<ValueId, std::vector<int>> axes;  // per value: the axis of each dimension, -1 where it has size 1
  RegionKind kind = RegionKind::elementwise;
  std::vector<NodeId> input_views;  // views of inputs: folded into loads
};

struct Refusal {
  std::string reason;
};

// `nodes` ascending. Refuses, with the reason, what cannot be one kernel.
std::variant<Domain, Refusal> find_domain(const Graph& graph, const std::vector<NodeId>& nodes);

// What a region may hold at all: elementwise ops, reductions and axis-preserving views over supported dtypes.
// Empty: it may; otherwise why not.
std::string why_not_fusable(const Graph& graph, NodeId node);

// Rank-0 constants and aranges are written into the kernel that uses them and belong to no region.
bool is_inlined(const Graph& graph, ValueId value);

}  // namespace autoperfect

// Growth of regions: every fusable node joins the unit of its producers when the union is still one legal
// kernel.
#pragma once

#include <vector>

#include "fuse/fuse.h"

namespace autoperfect {

struct Unit {
  std::vector<NodeId> nodes;  // ascending
  int level = 0;              // edges between units go to strictly higher levels, so no cycle can form
  bool fusable = true;
};

struct Growth {
  std::vector<Unit> units;  // empty ones were merged into others
  std::vector<Stop> stops;
};

Growth grow_units(const Graph& graph);

// More nodes or buffers than this make a kernel that spills registers and compiles slowly.
constexpr size_t most_nodes = 128;
constexpr size_t most_buffers = 24;

}  // namespace autoperfect

// From grown units to regions.
#pragma once

#include "fuse/grow.h"

namespace autoperfect {

// What finishing found out, for all units together.
struct Findings {
  std::vector<std::string> refusals;  // per node: why it is in a smaller region than its unit
  std::vector<bool> needed;           // per value: MLX reads it although all kernels compute it themselves
};

// The unit as a region, cost and reason apart; more than one when only parts of it are legal, or can be
// generated, with all that others read. Units that read must be finished before those they read from.
std::vector<Region> finish(
    const Graph& graph, const Growth& growth, int unit, const FuseOptions& options, Findings& findings);

}  // namespace autoperfect

// From grown units to regions.
#pragma once

#include "fuse/grow.h"

namespace autoperfect {

// The unit as a region, cost and reason apart; more than one when only parts of it are legal, or can be
// generated, with all that others read.
std::vector<Region> finish(
    const Graph& graph, const Growth& growth, int unit, const FuseOptions& options, std::vector<std::string>& refusals);

}  // namespace autoperfect

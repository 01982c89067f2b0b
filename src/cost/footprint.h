// How large a kernel is; see cost.h.
#pragma once

#include "cost/cost.h"

namespace autoperfect {

Footprint footprint_of(
    const Graph& graph,
    const std::vector<NodeId>& nodes,
    const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs);

// The nearest count there is: sums over tensors of the largest size may be beyond it.
int64_t to_count(double bytes);

}  // namespace autoperfect

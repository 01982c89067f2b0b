// Views as index maps: where an element of a view lies in the tensor that is viewed.
#pragma once

#include <optional>
#include <vector>

#include "fuse/axis_space.h"
#include "ir/graph.h"

namespace autoperfect {

// `index`: one per dimension of the view's result. Returns one per dimension of its operand; none when that
// is no index map of this kind. A reshape may split axes.
std::optional<IndexMap> pull_back(
    const Graph& graph, const Node& view, const IndexMap& index, AxisSpace& space);

// The last dimensions of a broadcast result, 0 where the operand has size 1.
IndexMap through_broadcast(const Shape& shape, const IndexMap& index);

}  // namespace autoperfect

// Indices that may be anything, brought within the reach of MLX, which counts negative ones from the end and
// reads where it must not for those still outside.
#pragma once

#include <string>

#include "ir/graph.h"

namespace autoperfect {

ValueId clipped_index(Graph& graph, ValueId index, int64_t size, const std::string& name);

// The same graph, whose gathers clip their indices: of a program that nobody trusts.
Graph with_clipped_indices(const Graph& source);

}  // namespace autoperfect

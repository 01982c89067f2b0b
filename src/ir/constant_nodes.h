// Nodes made of numbers and ranges alone, element by element: they are the same in every call.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace autoperfect {

std::vector<bool> find_constant_nodes(const Graph& graph);

}  // namespace autoperfect

// Views as index maps: where an element of a view lies in the tensor that is viewed.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/kernel.h"

namespace autoperfect {

// `index`: one affine expression per dimension of the view's result. Returns one per dimension of its
// operand.
std::vector<Affine> pull_back(const Graph& graph, const Node& view, const std::vector<Affine>& index);

// The number of a rank-0 `const` node.
double constant_value(const Node& constant);

}  // namespace autoperfect

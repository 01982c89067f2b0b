// What MLX needs for one op of a graph: the alternative to a kernel of ours.
#pragma once

#include "cost/target.h"
#include "ir/graph.h"

namespace autoperfect {

// `fresh`: its result is new memory, as opposed to that of an operand read here for the last time.
double mlx_seconds(const Graph& graph, const Node& node, bool fresh, const Target& target);

// Whether MLX can write the result into an operand: an elementwise op that is the last reader of an
// intermediate of the same size.
bool may_donate(const Graph& graph, const Uses& uses, NodeId node);

}  // namespace autoperfect

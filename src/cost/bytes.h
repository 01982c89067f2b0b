// Bytes and flops of single ops, in double: counts of the largest tensors there may be must not overflow.
#pragma once

#include "ir/graph.h"

namespace autoperfect {

double bytes_of(const TensorType& type);

// The part of an operand a node reads: a slice or a gather touches only some cache lines of it.
double touched_bytes(const Graph& graph, const Node& node, ValueId operand);

// Of matrix products, convolutions and the like; 0 for other ops.
double contraction_flops(const Graph& graph, const Node& node);

}  // namespace autoperfect

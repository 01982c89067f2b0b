// GraphIR -> the one normal form: composites lowered to primitives (numerically stable, with MLX eager's own
// rounding), constants folded, common subexpressions merged, dead code removed. Pure and idempotent: same
// text in, same text out, canonicalize(canonicalize(g)) == canonicalize(g). It never fuses and never looks at
// cost.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace autoperfect {

struct Canonical {
  Graph graph;
  // For each value of the source graph: the value of `graph` that is the same tensor, or -1 (dead or
  // internal).
  std::vector<ValueId> value_of_source;
};

Canonical canonicalize(const Graph& source);

// The graph as it is: every value stands for itself.
Canonical identity_of(const Graph& source);

}  // namespace autoperfect

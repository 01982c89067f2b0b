// The passes of canonicalize(), in order. Each is pure and keeps every value bit for bit, in exact dtype
// semantics.
#pragma once

#include "canonicalize/rewriter.h"

namespace autoperfect {

// softmax, mean... as the primitives MLX eager computes them with, and its roundings.
Rewrite lower_composites(const Graph& source);

// One spelling of each node: default attributes left out, slices from first to last element, `full` as
// `broadcast`, a constant operand of a commutative op second.
Rewrite normalize_attributes(const Graph& source);

// Nodes that change nothing, and views of views.
Rewrite remove_identities(const Graph& source);

// Constants through elementwise ops and views. One of equal elements becomes a broadcast scalar.
Rewrite fold_constants(const Graph& source);

// No elementwise op reads an explicit broadcast: it broadcasts by itself, and where all its operands repeat,
// its result is broadcast instead.
Rewrite make_broadcasts_implicit(const Graph& source);

// Of equal nodes on equal operands, the first.
Rewrite merge_common(const Graph& source);

// Nodes that outputs need, each right before its first reader, whatever order they were captured in.
Rewrite order_nodes(const Graph& source);

}  // namespace autoperfect

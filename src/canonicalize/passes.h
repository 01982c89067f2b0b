// What canonicalize() does, in order: rules that rewrite() applies in one walk, then order_nodes(). Each
// alone is pure and keeps every value bit for bit, in exact dtype semantics.
#pragma once

#include "canonicalize/rewriter.h"

namespace autoperfect {

// softmax, mean... as the primitives MLX eager computes them with, and its roundings.
std::optional<ValueId> lower_composites(Rewriter& to, const NewNode& node);

// The same for nodes of several results: parts of a split are slices, a quotient with remainder is two nodes.
std::vector<ValueId> expand_results(Rewriter& to, const Graph& source, const Node& node);

// One spelling of a node: default attributes left out, slices from first to last element, `full` as
// `broadcast`, `less` for `greater`, a contraction with a matrix over two axes, reductions that keep their
// axes.
std::optional<ValueId> spell_once(Rewriter& to, const NewNode& node);

// Nodes that change nothing, casts of casts.
std::optional<ValueId> remove_identities(Rewriter& to, const NewNode& node);

// Constants through elementwise ops and views. One of equal elements becomes a broadcast scalar.
std::optional<ValueId> fold_constants(Rewriter& to, const NewNode& node);

// x * x is a square, a division by a power of two a product...: other spellings of the same roundings.
std::optional<ValueId> simplify_arithmetic(Rewriter& to, const NewNode& node);

// No elementwise op or contraction reads an explicit broadcast: it broadcasts by itself, and where all its
// operands repeat, its result is broadcast instead. Views of a broadcast are broadcasts of a view.
std::optional<ValueId> make_broadcasts_implicit(Rewriter& to, const NewNode& node);

// Views of views: one of a kind, slices before transposes before reshapes that only add or drop axes of
// size 1.
std::optional<ValueId> merge_views(Rewriter& to, const NewNode& node);

// Concatenations and paddings without empty parts, parts of parts, and neighbours that are one slice; one
// scalar around one value is a padding.
std::optional<ValueId> simplify_concatenations(Rewriter& to, const NewNode& node);

// Slices that are assigned: without a reduction, and not where that is the update, a padding or a
// concatenation.
std::optional<ValueId> simplify_updates(Rewriter& to, const NewNode& node);

// Sums of values that lie beside one another, or in turns, among zeros are concatenations.
std::optional<ValueId> join_summands(Rewriter& to, const NewNode& node);

// Indices as they were before they were converted, repeated, turned or counted: what they take as whole
// slices where they count through an axis, `take_along_axis` where other axes choose among them.
std::optional<ValueId> simplify_gathers(Rewriter& to, const NewNode& node);

// Transposes and reshapes after elementwise ops, reshapes after reductions, where that is the same for every
// element.
std::optional<ValueId> sink_views(Rewriter& to, const NewNode& node);

// Operands of a commutative op in an order that depends only on what they are.
std::optional<ValueId> order_operands(Rewriter& to, const NewNode& node);

// Nodes that outputs need, each right before its first reader, and captured arrays in the order of their use,
// whatever order they were captured in.
Rewrite order_nodes(const Graph& source);

struct NamedRule {
  std::string_view name;
  Rule rule;
};
std::span<const NamedRule> all_rules();
Rules rules_of_canonicalize();

}  // namespace autoperfect

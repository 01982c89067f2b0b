// What a region may hold at all, looking at one node.
#pragma once

#include <string>

#include "ir/graph.h"

namespace autoperfect {

// A scatter is computed from its result: each element looks at every update that may be for it, in order.
// With more of them than this that is more work than MLX's copy, on any machine, and the kernel's text is
// long.
constexpr int64_t most_landings = 32;
// The same where each element loads updates of its own, and not those of its row.
constexpr int64_t most_landings_loaded = 4;

// Empty: it may; otherwise why not.
std::string why_not_fusable(const Graph& graph, NodeId node);

// Rank-0 constants and aranges are written into the kernel that uses them and belong to no region.
bool is_inlined(const Graph& graph, ValueId value);

inline bool is_view(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  return node && class_of(node->op) == OpClass::view;
}

// What a chain of views shows.
inline ValueId base_of(const Graph& graph, ValueId value) {
  while (is_view(graph, value))
    value = graph.producer(value)->operands[0];
  return value;
}

// The number of a rank-0 constant.
double constant_value(const Node& constant);

// Dimensions a reduction removes.
std::vector<int64_t> reduced_dims(const Node& reduction);

}  // namespace autoperfect

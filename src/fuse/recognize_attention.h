// Attention written by hand, found again in the primitives of a canonical graph: softmax(scale * q k^T,
// masked) v as one region that a library function may run instead. The graph stays as it is; this is what a
// pipeline needs to call one.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace autoperfect {

struct AttentionMatch {
  enum class Mask : uint8_t { none, causal, added, kept_where };
  ValueId q = -1;             // [..., queries, width]; before scaling and before a reshape of its batch axes
  ValueId k_transposed = -1;  // [..., width, keys]; before scaling
  ValueId v = -1;             // [..., keys, other width]
  ValueId mask = -1;          // added: the summand. kept_where: true where a key is seen
  Mask mask_kind = Mask::none;  // causal: the last query sees all keys, each before it one less
  double scale = 1;
  bool is_wide = false;       // the softmax of halves is computed in f32
  ValueId result = -1;        // [..., queries, other width]
  std::vector<NodeId> nodes;  // all that the library function would stand for, ascending
};

// Every match whose values in between nobody else reads. Disjoint, in the order of their results.
std::vector<AttentionMatch> recognize_attention(const Graph& graph);

std::string describe(const Graph& graph, const AttentionMatch& match);

}  // namespace autoperfect

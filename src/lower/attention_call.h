// A library's attention in place of the nodes that wrote it out: both as graphs of the same inputs, at the
// sizes of the match or at others.
#pragma once

#include <string>
#include <vector>

#include "fuse/recognize_attention.h"

namespace autoperfect {

// What a call may be tried at instead of its own sizes.
struct AttentionSizes {
  int64_t queries = 0, keys = 0;
  Shape lead = {};    // of the first axes, where all tensors share them; those beyond stay as they are
  bool wide = false;  // halves are f32: what is written, with almost no rounding
};

struct AttentionCall {
  Graph written;               // q, k transposed, v [, mask] -> the result
  std::vector<Graph> library;  // the same by scaled_dot_product_attention, in different ways, the best first
  std::vector<std::string> forms;  // what tells each of them from the others: "a causal flag"
  std::vector<ValueId> inputs;     // of the whole graph
};

AttentionSizes sizes_of(const Graph& graph, const AttentionMatch& match);

// Small ones at which a library takes the same way: remainders of 32, one query or several, fewer queries
// than keys or more are as they were.
AttentionSizes small_sizes(const Graph& graph, const AttentionMatch& match);

// An error where no call computes the same: dtypes that differ, say.
Result<AttentionCall> write_call(
    const Graph& graph, const AttentionMatch& match, const AttentionSizes& sizes);

}  // namespace autoperfect

// Who reads what, views seen through: what the growth of regions walks on.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace autoperfect {

struct Flow {
  explicit Flow(const Graph& graph);

  std::vector<ValueId> base;                 // per value: what it shows, itself when it is no view
  std::vector<std::vector<NodeId>> readers;  // per base value: nodes that are no views, ascending
  std::vector<bool> is_output;               // per base value: it or a view of it is returned
};

// Operands of a node that come from memory or from other nodes, views seen through, each once, in order.
std::vector<ValueId> reads_of(const Graph& graph, const Flow& flow, NodeId node);

}  // namespace autoperfect

#include "fuse/flow.h"

#include <algorithm>

#include "fuse/legal.h"

namespace autoperfect {

Flow::Flow(const Graph& graph)
    : base(graph.values.size()), readers(graph.values.size()), is_output(graph.values.size(), false) {
  for (size_t v = 0; v < base.size(); ++v)
    base[v] = static_cast<ValueId>(v);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    const Node& node = graph.nodes[id];
    if (class_of(node.op) == OpClass::view) {
      base[node.results[0]] = base[node.operands[0]];
      continue;
    }
    for (ValueId v : node.operands) {
      auto& known = readers[base[v]];
      if (known.empty() || known.back() != id) known.push_back(id);
    }
  }
  for (ValueId v : graph.outputs)
    is_output[base[v]] = true;
}

std::vector<ValueId> reads_of(const Graph& graph, const Flow& flow, NodeId node) {
  std::vector<ValueId> reads;
  for (ValueId v : graph.nodes[node].operands) {
    ValueId b = flow.base[v];
    if (!is_inlined(graph, b) && std::find(reads.begin(), reads.end(), b) == reads.end()) reads.push_back(b);
  }
  return reads;
}

}  // namespace autoperfect

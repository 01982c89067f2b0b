// Ops -> public MLX operations: how a program runs when only its graph is known.
#include <stdexcept>

#include "capture/applying.h"

namespace autoperfect {

std::vector<mlx::core::array> apply(
    const Graph& graph, NodeId id, const std::vector<mlx::core::array>& inputs) {
  const auto& node = graph.nodes[id];
  if (needs_its_primitive(node.op)) {
    throw std::invalid_argument(
        "[interpret] '" + std::string(name(node.op)) + "' runs by its primitive only: it " +
        std::string(barrier_reason(node.op)));
  }
  applying::Call call{graph, node, inputs};
  switch (class_of(node.op)) {
    case OpClass::source:
      return applying::source(call);
    case OpClass::elementwise:
      return applying::elementwise(call);
    case OpClass::reduction:
      return applying::reduction(call);
    case OpClass::scan:
      return applying::scan(call);
    case OpClass::composite:
      return applying::composite(call);
    case OpClass::view:
      return applying::view(call);
    case OpClass::indexing:
      return applying::indexing(call);
    case OpClass::gemm:
      return applying::contraction(call);
    case OpClass::barrier:
      return applying::barrier(call);
  }
  throw InternalError("[interpret] an op without a class");
}

}  // namespace autoperfect

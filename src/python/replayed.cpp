#include "python/replayed.h"

#include <optional>

#include "capture/capture.h"
#include "ir/graph_text.h"
#include "python/trees.h"

namespace autoperfect::python {

namespace {

Arrays run(const Captured& captured, const Arrays& arguments, bool by_primitive) {
  const auto& graph = captured.graph;
  std::vector<std::optional<mlx::core::array>> values(graph.values.size());
  size_t argument = 0, constant = 0;
  for (const auto& input : graph.inputs) {
    values[input.value] =
        input.captured_hash.empty() ? arguments[argument++] : captured.constants[constant++];
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto& node = graph.nodes[n];
    Arrays operands;
    for (auto operand : node.operands)
      operands.push_back(*values[operand]);
    auto id = static_cast<NodeId>(n);
    auto results = by_primitive || needs_its_primitive(node.op) ? replay(captured, id, operands)
                                                                : apply(graph, id, operands);
    for (size_t i = 0; i < results.size(); ++i)
      values[node.results[i]] = results[i];
  }
  Arrays outputs;
  for (auto output : graph.outputs)
    outputs.push_back(*values[output]);
  return outputs;
}

}  // namespace

ArrayFunction array_function(nb::callable function) {
  return [function = std::move(function)](const Arrays& placeholders) {
    nb::gil_scoped_acquire gil;
    nb::list given;
    for (const auto& placeholder : placeholders)
      given.append(to_python(placeholder));
    Arrays outputs;
    OutputTree::flatten(function(*given).ptr(), outputs);
    return outputs;
  };
}

Replayed replay_captured(nb::callable function, const Arrays& arguments) {
  auto traced = array_function(std::move(function));
  nb::gil_scoped_release released;
  auto captured = capture(traced, arguments);
  return {print(captured.graph), run(captured, arguments, true), run(captured, arguments, false)};
}

}  // namespace autoperfect::python

// explain: the whole way of a graph on this machine, from canonical form to measured kernels.
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include "cli/command.h"
#include "cli/input.h"
#include "pipeline/pipeline.h"

namespace autoperfect::cli {

namespace {

namespace mx = mlx::core;

// Placeholders of the graph's input types; a program is compiled for types, not for values.
std::vector<mx::array> arguments_of(const Graph& graph) {
  std::vector<mx::array> arguments;
  for (const auto& input : graph.inputs) {
    const auto& type = graph.type(input.value);
    arguments.push_back(mx::zeros(mx::Shape(type.shape.begin(), type.shape.end()), to_mlx(type.dtype)));
  }
  mx::eval(arguments);
  return arguments;
}

Status explain_graph(const Graph& graph) {
  for (const auto& node : graph.nodes)
    if (node.op == Op::opaque)
      return Diagnostic{
          "cli",
          "opaque",
          "an opaque op has no primitive outside of its capture",
          node.where,
          "explain it from Python"};
  auto function = [&](const std::vector<mx::array>& inputs) { return interpret(graph, inputs); };
  write_output(explain(*Program::build(function, arguments_of(graph))));
  return Success{};
}

}  // namespace

Action declare_explain(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  add_input_option(app, *path);
  return [path] {
    return with_parsed<Graph>(*path, parse_graph, [](Graph graph) { return explain_graph(graph); });
  };
}

}  // namespace autoperfect::cli

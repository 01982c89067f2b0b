// capture, explain: programs rather than texts. A graph, or a function MLX exported to a file, with the types
// of its arguments; `module:function` is handled by the Python side of the command.
#include <fmt/format.h>
#include <mlx/device.h>
#include <mlx/export.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/programs.h"
#include "ir/attribute_text.h"

namespace autoperfect::cli {

namespace {

namespace mx = mlx::core;

// Placeholders: a program is compiled for types, not for values.
mx::array placeholder(const TensorType& type) {
  return mx::zeros(mx::Shape(type.shape.begin(), type.shape.end()), to_mlx(type.dtype));
}

Result<std::vector<mx::array>> arguments_of(const std::vector<std::string>& types) {
  std::vector<mx::array> arguments;
  for (const auto& text : types) {
    TextReader reader(text, "cli");
    auto type = parse_type(reader);
    if (!type) return reader.take_errors();
    arguments.push_back(placeholder(*type));
  }
  mx::eval(arguments);
  return arguments;
}

// What this shows is of the CPU; where MLX has a GPU that would be the default.
void use_cpu() {
  mx::set_default_device(mx::Device::cpu);
}

int report(const std::vector<Diagnostic>& errors) {
  std::fputs((format(errors) + "\n").c_str(), stderr);
  return exit_bad_input;
}

int with_exported(
    const ProgramArguments& options, const std::function<void(const std::vector<mx::array>&)>& use) {
  auto arguments = arguments_of(options.types);
  if (!arguments) return report(arguments.errors());
  try {
    use(*arguments);
  } catch (const std::exception& error) {
    return report({Diagnostic{
        "capture",
        "not-traced",
        error.what(),
        {},
        "give the type of each argument after the file, such as f32[4,8]"}});
  }
  return exit_ok;
}

}  // namespace

Status explain_graph(const Graph& graph, const CompileOptions& options) {
  std::vector<mx::array> arguments;
  for (const auto& input : graph.inputs)
    arguments.push_back(placeholder(graph.type(input.value)));
  for (const auto& node : graph.nodes)
    if (needs_its_primitive(node.op))
      return Diagnostic{
          "cli",
          "opaque",
          fmt::format(
              "'{}' {}: outside of its capture it has no primitive to run",
              name(node.op),
              barrier_reason(node.op)),
          node.where,
          "explain the program itself, as module:function"};
  mx::eval(arguments);
  auto function = [&](const std::vector<mx::array>& inputs) { return interpret(graph, inputs); };
  write_output(explain(*Program::build(function, arguments, options)));
  return Success{};
}

bool is_exported(const std::string& path) {
  return path.ends_with(".mlxfn");
}

void add_program_arguments(CLI::App& app, ProgramArguments& arguments, const char* what) {
  app.add_option("program", arguments.path, what);
  app.add_option("types", arguments.types, "of the arguments of an exported function: f32[4,8] ...");
}

int explain_exported(const ProgramArguments& program, const CompileOptions& options) {
  return with_exported(program, [&](const std::vector<mx::array>& arguments) {
    auto function = mx::import_function(program.path);
    write_output(explain(*Program::build(
        [&](const std::vector<mx::array>& inputs) { return function(inputs); }, arguments, options)));
  });
}

Action declare_capture(CLI::App& app) {
  auto options = std::make_shared<ProgramArguments>();
  add_program_arguments(app, *options, "FILE.mlxfn, or module:function");
  return [options] {
    use_cpu();
    return with_exported(*options, [&](const std::vector<mx::array>& arguments) {
      write_output(print(capture_file(options->path, arguments).graph));
    });
  };
}

Action declare_explain(CLI::App& app) {
  auto options = std::make_shared<ProgramArguments>();
  auto how = std::make_shared<CompileOptions>();
  add_program_arguments(
      app, *options, "a graph (standard input when absent), FILE.mlxfn, or module:function");
  add_numerics_option(app, how->lower);
  return [options, how] {
    use_cpu();
    if (is_exported(options->path)) return explain_exported(*options, *how);
    return with_parsed<Graph>(
        options->path, parse_graph, [&](Graph graph) { return explain_graph(graph, *how); });
  };
}

}  // namespace autoperfect::cli

// print: parse any text and print it again, with its names or in the canonical form that is hashed.
#include <memory>

#include "cli/command.h"
#include "cli/input.h"

namespace autoperfect::cli {

namespace {

struct Options {
  std::string path;
  bool canonical = false;
  bool signature = false;
};

Status print_parsed(const Options& options, const ParsedText& program) {
  auto names = options.canonical ? Names::canonical : Names::kept;
  auto* kernel = std::get_if<Kernel>(&program);
  if (options.signature) {
    if (!kernel) return Diagnostic{"cli", "not-a-kernel", "only kernels have a signature"};
    write_output(signature(*kernel) + "\n");
  } else if (kernel) {
    write_output(print(*kernel, names));
  } else if (auto* graph = std::get_if<Graph>(&program)) {
    write_output(print(*graph, names));
  } else {
    const auto& planned = std::get<PlannedGraph>(program);
    write_output(print(planned.graph, planned.plan));
  }
  return Success{};
}

}  // namespace

Action declare_print(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_input_option(app, options->path);
  app.add_flag("--canonical", options->canonical, "number values in order and drop names and dynamic sizes");
  app.add_flag("--signature", options->signature, "print the hash of a kernel's canonical form");
  return [options] {
    return with_parsed<ParsedText>(
        options->path, parse_any, [&](ParsedText program) { return print_parsed(*options, program); });
  };
}

}  // namespace autoperfect::cli

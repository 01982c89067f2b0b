// check: parse and verify any text.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "ir/kernel_text.h"

namespace autoperfect::cli {

namespace {

struct Options {
  std::string path;
  bool json = false;
};

std::string to_json(const std::vector<Diagnostic>& errors) {
  auto list = nlohmann::json::array();
  for (const auto& error : errors) {
    list.push_back(
        {{"stage", error.stage},
         {"code", error.code},
         {"message", error.message},
         {"line", error.where.line},
         {"column", error.where.column},
         {"length", error.where.length},
         {"hint", error.hint}});
  }
  nlohmann::json report = {{"ok", errors.empty()}, {"errors", list}};
  // A text that is not UTF-8 may be quoted in a message.
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string counted(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// What was checked, in a line.
std::string summary(const Graph& graph) {
  return fmt::format(
      "graph @{}: {}, {}, {}",
      graph.name,
      counted(graph.inputs.size(), "input"),
      counted(graph.nodes.size(), "node"),
      counted(graph.outputs.size(), "output"));
}

std::string summary(const Kernel& kernel) {
  auto inputs = std::count_if(kernel.buffers.begin(), kernel.buffers.end(), [](const auto& buffer) {
    return buffer.role == BufferRole::in;
  });
  return fmt::format(
      "kernel @{}: {}, {}, {}, signature {}",
      kernel.name,
      counted(inputs, "input"),
      counted(kernel.values.size(), "value"),
      counted(kernel.buffers.size() - inputs, "output"),
      signature(kernel));
}

std::string summary(const PlannedGraph& planned) {
  return summary(planned.graph) + ", " + counted(planned.plan.regions.size(), "region");
}

int check_as_json(const std::string& path) {
  auto text = read_text(path);
  auto program = text ? parse_any(*text) : Result<ParsedText>(text.errors());
  write_output(to_json(program ? std::vector<Diagnostic>{} : program.errors()));
  return program ? exit_ok : exit_bad_input;
}

}  // namespace

Action declare_check(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_input_option(app, options->path);
  app.add_flag("--json", options->json, "print the findings as JSON on standard output");
  return [options] {
    if (options->json) return check_as_json(options->path);
    return with_parsed<ParsedText>(options->path, parse_any, [](ParsedText parsed) {
      write_output("ok: " + std::visit([](const auto& text) { return summary(text); }, parsed) + "\n");
      return Success{};
    });
  };
}

}  // namespace autoperfect::cli

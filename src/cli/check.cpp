// check: parse and verify any text; with --source, the draft of a candidate against its kernel.
#include "check/check.h"

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
  std::string source;    // a draft
  std::string language;  // empty: by the name of the file
  bool counted = false, wrapped = false;
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
  auto count = [&](BufferRole role) {
    return std::count_if(kernel.buffers.begin(), kernel.buffers.end(), [&](const auto& buffer) {
      return buffer.role == role;
    });
  };
  return fmt::format(
      "kernel @{}: {}, {}, {}, signature {}",
      kernel.name,
      counted(count(BufferRole::in), "input"),
      counted(kernel.values.size(), "value"),
      counted(count(BufferRole::out), "output"),
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

std::string summary(const Checked& checked) {
  std::string text = fmt::format(
      "ok: {} draft, {}, {}\n",
      checked.candidate.language,
      counted(checked.arms.size(), "arm"),
      counted(checked.constants.size(), "constant"));
  for (const auto& arm : checked.arms)
    text += fmt::format("  line {}: {}\n", arm.line, arm.what);
  for (auto constant : checked.constants)
    text += fmt::format("  compared with {}\n", constant);
  return text;
}

int check_draft(const Options& options) {
  auto kernel_text = read_text(options.path);
  auto kernel = kernel_text ? parse_kernel(*kernel_text) : Result<Kernel>(kernel_text.errors());
  auto source = read_text(options.source);
  const auto language = options.language.empty() ? language_of(options.source) : options.language;
  auto run = [&]() -> Result<Checked> {
    if (!kernel) return kernel.errors();
    if (!source) return source.errors();
    return check(*kernel, {language, *source}, default_cpu_target());
  };
  auto checked = run();
  if (options.json) {
    write_output(to_json(checked ? std::vector<Diagnostic>{} : checked.errors()));
  } else if (!checked) {
    auto report = format(checked.errors(), kernel ? source ? *source : "" : *kernel_text);
    std::fwrite(report.data(), 1, report.size(), stderr);
  } else if (options.counted || options.wrapped) {
    write_output(options.counted ? checked->counted_source : checked->candidate.source);
  } else {
    write_output(summary(*checked));
  }
  return checked ? exit_ok : exit_bad_input;
}

}  // namespace

Action declare_check(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_input_option(app, options->path);
  app.add_flag("--json", options->json, "print the findings as JSON on standard output");
  app.add_option("--source", options->source, "check this draft of a candidate for the kernel in FILE");
  app.add_option("--language", options->language, "of the draft: mlx, cpu, cuda, metal; else by its name");
  app.add_flag("--print", options->wrapped, "print what would be compiled");
  app.add_flag("--print-counted", options->counted, "print it with a counter at each arm");
  return [options] {
    if (!options->source.empty()) return check_draft(*options);
    if (options->json) return check_as_json(options->path);
    return with_parsed<ParsedText>(options->path, parse_any, [](ParsedText parsed) {
      write_output("ok: " + std::visit([](const auto& text) { return summary(text); }, parsed) + "\n");
      return Success{};
    });
  };
}

}  // namespace autoperfect::cli

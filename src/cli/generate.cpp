// generate, compile: from a kernel's text to the built-in generator's sources, and to their binaries.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "check/check.h"
#include "cli/command.h"
#include "cli/input.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "support/file.h"
#include "tune/build.h"

namespace autoperfect::cli {

namespace {

struct CompileArguments {
  std::string path, target, folder;
  std::string source;  // a draft
};

const Diagnostic no_schedule{
    "generate", "no-schedule", "the built-in schedules have no form for this kernel", {}, ""};

// This machine's processor where no target is named.
Target chosen_target(const std::string& name) {
  return name.empty() ? default_cpu_target() : *find_target(name);
}

void add_target_option(CLI::App& app, std::string& target) {
  app.add_option("--target", target, "the machine to generate for; this one's processor by default")
      ->check([](const std::string& name) {
        return find_target(name) ? std::string() : "there is no target " + name + "; cuda.sm_90, say";
      });
}

// How a GPU candidate is launched, as a comment.
std::string launch_text(const Candidate& candidate) {
  if (candidate.launch.grid.empty()) return "";
  auto text = fmt::format(
      "// launch: grid={} block={}\n",
      fmt::join(candidate.launch.grid, ","),
      fmt::join(candidate.launch.block, ","));
  auto& second = candidate.second;
  if (second.grid.empty()) return text;
  return text + fmt::format(
                    "// second: grid={} block={} partial={}\n",
                    fmt::join(second.grid, ","),
                    fmt::join(second.block, ","),
                    second.partial_bytes);
}

Status print_candidates(const Kernel& kernel, const Target& target) {
  auto candidates = generate_schedules(kernel, target);
  if (candidates.empty()) return no_schedule;
  for (const auto& candidate : candidates)
    write_output("// " + candidate.provenance + "\n" + launch_text(candidate) + candidate.source + "\n");
  return Success{};
}

// What is wrong with a draft is shown with its own lines.
Status refuse(std::vector<Diagnostic> errors, const std::string& source, int first_line) {
  for (auto& error : errors)
    if (error.where.line) error.where.line = std::max(1, error.where.line - first_line);
  std::fputs(format(errors, source).c_str(), stderr);
  return Diagnostic{"compile", "rejected", "the draft was rejected by " + errors.front().stage};
}

Status write_compiled(
    const Candidate& candidate,
    const CompiledSource& compiled,
    std::chrono::duration<double, std::milli> took,
    const std::string& file) {
  const auto& [binary, log] = compiled;
  write_output(fmt::format("{}: {} bytes in {:.0f} ms\n", candidate.provenance, binary.size(), took.count()));
  if (file.empty()) return Success{};
  if (write_file_atomically(file, binary) &&
      (log.empty() || write_file_atomically(file + ".log", log + "\n")))
    return Success{};
  return Diagnostic{"compile", "unwritable", file + " cannot be written", {}, "name a folder that exists"};
}

// Into a folder, where one is named.
std::string file_for(const CompileArguments& arguments, const Target& target, size_t number) {
  if (arguments.folder.empty()) return "";
  return fmt::format("{}/{}.{}", arguments.folder, number, target.capability ? "cubin" : "so");
}

Status compile_draft(const Kernel& kernel, const CompileArguments& arguments) {
  Target target = chosen_target(arguments.target);
  auto text = read_text(arguments.source);
  if (!text) return text.errors();
  const auto language = language_of(arguments.source);
  if (language != (target.capability ? "cuda" : "cpu"))
    return Diagnostic{
        "cli", "other-machine", fmt::format("'{}' runs no drafts in '{}'", target.name, language)};
  auto checked = check(kernel, {language, *text}, target);
  if (!checked) return refuse(checked.errors(), *text, 0);
  checked->candidate.provenance = arguments.source;
  auto start = std::chrono::steady_clock::now();
  auto compiled = compile_source(checked->candidate.source, target, Build::plain, false);
  if (!compiled) return refuse(compiled.errors(), *text, checked->first_line);
  auto took = std::chrono::steady_clock::now() - start;
  return write_compiled(checked->candidate, *compiled, took, file_for(arguments, target, 0));
}

// Every built-in candidate.
Status compile_candidates(const Kernel& kernel, const CompileArguments& arguments) {
  Target target = chosen_target(arguments.target);
  auto candidates = generate_schedules(kernel, target);
  if (candidates.empty()) return no_schedule;
  for (size_t k = 0; k < candidates.size(); ++k) {
    auto start = std::chrono::steady_clock::now();
    auto compiled = compile_source(candidates[k].source, target, Build::plain, true);
    if (!compiled) return compiled.errors();
    auto took = std::chrono::steady_clock::now() - start;
    auto written = write_compiled(candidates[k], *compiled, took, file_for(arguments, target, k));
    if (!written) return written;
  }
  return Success{};
}

}  // namespace

Action declare_generate(CLI::App& app) {
  auto arguments = std::make_shared<CompileArguments>();
  add_input_option(app, arguments->path);
  add_target_option(app, arguments->target);
  return [arguments] {
    return with_parsed<Kernel>(arguments->path, parse_kernel, [&](Kernel kernel) {
      return print_candidates(kernel, chosen_target(arguments->target));
    });
  };
}

Action declare_compile(CLI::App& app) {
  auto arguments = std::make_shared<CompileArguments>();
  add_input_option(app, arguments->path);
  add_target_option(app, arguments->target);
  app.add_option("--source", arguments->source, "a draft of a candidate, instead of the built-in ones");
  app.add_option(
      "--to", arguments->folder, "a folder for the binaries, and what the compiler says of cubins");
  return [arguments] {
    return with_parsed<Kernel>(arguments->path, parse_kernel, [&](Kernel kernel) {
      return arguments->source.empty() ? compile_candidates(kernel, *arguments)
                                       : compile_draft(kernel, *arguments);
    });
  };
}

}  // namespace autoperfect::cli

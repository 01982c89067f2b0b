// generate, compile: from a kernel's text to the built-in generator's sources, and to their binaries.
#include <fmt/format.h>

#include <chrono>

#include "check/check.h"
#include "cli/command.h"
#include "cli/input.h"
#include "compile/cpu/compile.h"
#include "compile/cuda/compile.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "support/file.h"

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

Result<std::string> compile_candidate(const Candidate& candidate, const Target& target, bool drafted) {
  if (target.capability) {
    auto binary = compile_cuda(candidate.source, target.capability, {.drafted = drafted});
    if (!binary) return binary.errors();
    return binary->cubin;
  }
  auto& compiler = system_compiler();
  if (!compiler) return compiler.errors();
  return compile_cpu(candidate.source, *compiler, Build::plain, {.sandbox = drafted});
}

Result<std::vector<Candidate>> candidates_for(
    const Kernel& kernel, const Target& target, const std::string& source) {
  if (source.empty()) {
    auto candidates = generate_schedules(kernel, target);
    if (candidates.empty()) return no_schedule;
    return candidates;
  }
  auto text = read_text(source);
  if (!text) return text.errors();
  const auto language = language_of(source);
  if (language != (target.capability ? "cuda" : "cpu"))
    return Diagnostic{
        "cli", "other-machine", fmt::format("'{}' runs no drafts in '{}'", target.name, language)};
  auto checked = check(kernel, {language, *text}, target);
  if (!checked) return checked.errors();
  checked->candidate.provenance = source;
  return std::vector<Candidate>{checked->candidate};
}

// Every built-in candidate, or the draft that is named; into files where a folder is named.
Status compile_candidates(const Kernel& kernel, const CompileArguments& arguments) {
  Target target = chosen_target(arguments.target);
  auto candidates = candidates_for(kernel, target, arguments.source);
  if (!candidates) return candidates.errors();
  for (size_t k = 0; k < candidates->size(); ++k) {
    auto& candidate = (*candidates)[k];
    auto start = std::chrono::steady_clock::now();
    auto binary = compile_candidate(candidate, target, !arguments.source.empty());
    if (!binary) return binary.errors();
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    write_output(
        fmt::format("{}: {} bytes in {:.0f} ms\n", candidate.provenance, binary->size(), took.count()));
    if (arguments.folder.empty()) continue;
    std::string file = fmt::format("{}/{}.{}", arguments.folder, k, target.capability ? "cubin" : "so");
    if (!write_file_atomically(file, *binary))
      return Diagnostic{
          "compile", "unwritable", file + " cannot be written", {}, "name a folder that exists"};
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
  app.add_option("--to", arguments->folder, "a folder for the binaries");
  return [arguments] {
    return with_parsed<Kernel>(
        arguments->path, parse_kernel, [&](Kernel kernel) { return compile_candidates(kernel, *arguments); });
  };
}

}  // namespace autoperfect::cli

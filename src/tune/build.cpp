#include "tune/build.h"

#include <chrono>

#include "compile/cuda/compile.h"

namespace autoperfect {
namespace {

// What a reader needs of several errors: the first few.
constexpr size_t most_errors = 5;

void timed(double& total, const auto& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  total += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string text_of(std::vector<Diagnostic> errors, const std::string& source) {
  size_t more = errors.size() > most_errors ? errors.size() - most_errors : 0;
  errors.resize(errors.size() - more);
  return format(errors, source) + (more ? "and " + std::to_string(more) + " more\n" : "");
}

// Lines of the compiled source become lines of the draft.
std::vector<Diagnostic> in_draft(std::vector<Diagnostic> errors, int first_line) {
  for (auto& error : errors)
    if (error.where.line) error.where.line = std::max(1, error.where.line - first_line);
  return errors;
}

// That kernels are compiled from.
std::string language_of(const Target& target) {
  return target.capability ? "cuda" : "cpu";
}

bool runs_on(const Target& target, const std::string& language) {
  return language == "mlx" || language == language_of(target);
}

std::optional<Failure> check_draft(Contestant& contestant, const Kernel& kernel, const Target& target) {
  auto& draft = *contestant.draft;
  contestant.attempt.stage = "check";
  Result<Checked> checked = Diagnostic{"check", "not-run", "was not checked"};
  timed(contestant.attempt.check_seconds, [&] { checked = check(kernel, draft, target); });
  if (!checked) return Failure{"check", text_of(checked.errors(), draft.source)};
  std::string provenance = contestant.candidate.provenance;
  contestant.candidate = checked->candidate;
  contestant.candidate.provenance = provenance;
  contestant.checked = std::move(*checked);
  if (!runs_on(target, draft.language))
    return Failure{
        "compile",
        format(Diagnostic{
            "compile",
            "no-backend",
            "the text is well formed, but '" + target.name + "' runs nothing in language '" + draft.language +
                "'",
            {},
            std::string("the languages it runs are ") + language_of(target) + " and mlx"}),
        false};
  return std::nullopt;
}

// A shared object, or a cubin; `log` becomes what the compiler said. What is built in is trusted.
Result<std::string> compile_source(
    const std::string& source, const Target& target, Build build, bool built_in, std::string& log) {
  if (target.capability) {
    auto compiled = compile_cuda(source, target.capability, {.drafted = !built_in});
    if (!compiled) return compiled.errors();
    log = std::move(compiled->log);
    return std::move(compiled->cubin);
  }
  auto& compiler = system_compiler();
  if (!compiler) return compiler.errors();
  return compile_cpu(source, *compiler, build, {.sandbox = !built_in});
}

std::optional<Failure> compile(Contestant& contestant, const Target& target) {
  auto& attempt = contestant.attempt;
  attempt.stage = "compile";
  auto& source = contestant.candidate.source;
  timed(attempt.compile_seconds, [&] {
    contestant.binary = compile_source(source, target, Build::plain, contestant.built_in, contestant.log);
  });
  if (!contestant.binary) {
    if (!contestant.draft) return Failure{"compile", text_of(contestant.binary.errors(), source), false};
    auto errors = in_draft(contestant.binary.errors(), contestant.checked->first_line);
    return Failure{"compile", text_of(std::move(errors), contestant.draft->source)};
  }
  if (contestant.checked) {
    Result<std::string> watched = Diagnostic{"compile", "not-run", "was not compiled"};
    std::string of_watched;
    timed(attempt.compile_seconds, [&] {
      watched = compile_source(contestant.checked->counted_source, target, Build::counted, false, of_watched);
    });
    if (!watched) return Failure{"compile", "the watched build: " + text_of(watched.errors(), ""), false};
    contestant.watched_binary = std::move(*watched);
  }
  if (target.capability)
    return std::nullopt;  // it comes into this process only once it was proved in another
  auto loaded = load_cpu(*contestant.binary, contestant.candidate.launch);
  if (!loaded) return Failure{"compile", format(loaded.errors())};
  contestant.runnable.loaded = *loaded;
  contestant.runnable.guards = contestant.candidate.guards;
  return std::nullopt;
}

}  // namespace

std::optional<Failure> build(Contestant& contestant, const Kernel& kernel, const Target& target) {
  if (contestant.draft) {
    if (auto failure = check_draft(contestant, kernel, target)) return failure;
    if (contestant.checked->graph) {
      contestant.runnable.graph = std::make_shared<const Graph>(*contestant.checked->graph);
      return std::nullopt;
    }
  }
  return compile(contestant, target);
}

}  // namespace autoperfect

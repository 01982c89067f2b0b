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
  if (draft.language == "cuda" || draft.language == "metal")
    return Failure{
        "compile",
        format(Diagnostic{
            "compile",
            "no-backend",
            "the text is well formed, but nothing here compiles or runs language '" + draft.language + "'",
            {},
            "the languages that run on this machine are cpu and mlx"}),
        false};
  return std::nullopt;
}

// To a cubin; it is loaded into this process only once it was proved in another.
std::optional<Failure> compile_for_gpu(Contestant& contestant, const Target& target) {
  contestant.attempt.stage = "compile";
  Result<CudaBinary> compiled = Diagnostic{"compile", "not-run", "was not compiled"};
  timed(contestant.attempt.compile_seconds, [&] {
    compiled = compile_cuda(contestant.candidate.source, target.capability);
  });
  if (!compiled) return Failure{"compile", text_of(compiled.errors(), contestant.candidate.source), false};
  contestant.binary = std::move(compiled->cubin);
  return std::nullopt;
}

std::optional<Failure> compile(Contestant& contestant) {
  contestant.attempt.stage = "compile";
  auto& compiler = system_compiler();
  if (!compiler) return Failure{"compile", format(compiler.errors()), false};
  auto& attempt = contestant.attempt;
  timed(attempt.compile_seconds, [&] {
    CompilerOptions options;
    options.sandbox = contestant.draft.has_value();  // what is built in is trusted
    contestant.binary = compile_cpu(contestant.candidate.source, *compiler, Build::plain, options);
  });
  if (!contestant.binary) {
    if (!contestant.draft)
      return Failure{"compile", text_of(contestant.binary.errors(), contestant.candidate.source), false};
    auto errors = in_draft(contestant.binary.errors(), contestant.checked->first_line);
    return Failure{"compile", text_of(std::move(errors), contestant.draft->source)};
  }
  if (contestant.checked) {
    Result<std::string> watched = Diagnostic{"compile", "not-run", "was not compiled"};
    timed(attempt.compile_seconds, [&] {
      watched = compile_cpu(contestant.checked->counted_source, *compiler, Build::counted);
    });
    if (!watched) return Failure{"compile", "the watched build: " + text_of(watched.errors(), ""), false};
    contestant.watched_binary = std::move(*watched);
  }
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
  return contestant.candidate.language == "cuda" ? compile_for_gpu(contestant, target) : compile(contestant);
}

}  // namespace autoperfect

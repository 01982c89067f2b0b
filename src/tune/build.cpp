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

std::optional<Failure> compile(Contestant& contestant, const Target& target) {
  auto& attempt = contestant.attempt;
  attempt.stage = "compile";
  auto& source = contestant.candidate.source;
  const Result<CompiledSource> not_run = Diagnostic{"compile", "not-run", "was not compiled"};
  auto compiled = not_run;
  timed(attempt.compile_seconds, [&] {
    compiled = compile_source(source, target, Build::plain, contestant.built_in);
  });
  if (!compiled) {
    if (!contestant.draft) return Failure{"compile", text_of(compiled.errors(), source), false};
    auto errors = in_draft(compiled.errors(), contestant.checked->first_line);
    return Failure{"compile", text_of(std::move(errors), contestant.draft->source)};
  }
  contestant.binary = std::move(compiled->binary);
  contestant.log = std::move(compiled->log);
  if (contestant.checked) {
    auto watched = not_run;
    timed(attempt.compile_seconds, [&] {
      watched = compile_source(contestant.checked->counted_source, target, Build::counted, false);
    });
    if (!watched) return Failure{"compile", "the watched build: " + text_of(watched.errors(), ""), false};
    contestant.watched_binary = std::move(watched->binary);
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

Result<CompiledSource> compile_source(
    const std::string& source, const Target& target, Build build, bool trusted) {
  if (target.capability) {
    auto compiled = compile_cuda(source, target.capability, {.drafted = !trusted});
    if (!compiled) return compiled.errors();
    return CompiledSource{std::move(compiled->cubin), std::move(compiled->log)};
  }
  auto& compiler = system_compiler();
  if (!compiler) return compiler.errors();
  auto binary = compile_cpu(source, *compiler, build, {.sandbox = !trusted});
  if (!binary) return binary.errors();
  return CompiledSource{std::move(*binary), ""};
}

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

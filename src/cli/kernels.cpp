// gate: from a candidate to a verdict.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/tune.h"
#include "compile/cpu/compile.h"
#include "gate/gate.h"
#include "generate/schedule/schedule.h"
#include "pipeline/region_runner.h"
#include "pipeline/tune_kernels.h"
#include "tune/machine.h"

namespace autoperfect::cli {

namespace {

struct GateArguments {
  std::string path, source, language;
  TuneArguments tune;
};

void print_families(const std::vector<FamilyResult>& families) {
  for (const auto& family : families)
    write_output(fmt::format(
        "  {:<24} {}  worst {:.2f} ulp (eager {:.2f}) {}\n",
        family.family,
        family.passed ? "pass" : "FAIL",
        family.worst_ulp,
        family.eager_ulp,
        family.failure));
}

void print_verdict(const Candidate& candidate, const Verdict& verdict) {
  write_output(fmt::format(
      "{}: {} in {:.0f} ms ({})\n",
      candidate.provenance,
      verdict.admitted ? "admitted" : "rejected",
      verdict.seconds * 1e3,
      verdict.isolation));
  print_families(verdict.families);
  for (const auto& failure : verdict.failures)
    write_output("  " + format(failure) + "\n");
  if (!verdict.places.empty()) write_output("  computed at " + verdict.places + "\n");
}

// The gate on every built-in candidate; an error when one of them does not pass.
Status gate_candidates(const Kernel& kernel, const GateArguments& arguments) {
  auto& compiler = system_compiler();
  if (!compiler) return compiler.errors();
  mlx::core::set_default_device(mlx::core::Device::cpu);
  auto stream = mlx::core::default_stream(mlx::core::Device::cpu);
  RegionRunner runner(kernel, {}, stream);
  GateOptions options;
  options.seed = arguments.tune.request.seed;
  options.eager = [&](const std::vector<Tensor>& inputs) { return runner.eager(inputs); };
  auto candidates = generate_schedules(kernel, default_cpu_target());
  if (candidates.empty())
    return Diagnostic{
        "generate", "no-schedule", "the built-in schedules have no form for this kernel", {}, ""};
  std::vector<Diagnostic> failures;
  for (auto& candidate : candidates) {
    auto binary = compile_cpu(candidate.source, *compiler);
    if (!binary) return binary.errors();
    auto verdict = gate(kernel, candidate, *binary, options);
    print_verdict(candidate, verdict);
    if (!verdict.admitted)
      failures.push_back({"gate", "rejected", candidate.provenance + " was rejected", {}, ""});
  }
  if (!failures.empty()) return failures;
  return Success{};
}

// A kernel somebody wrote: its verdict, and its time beside the schedules and MLX. When it wins it is kept.
Status gate_source(const Kernel& kernel, const TuneOptions& options) {
  auto outcome = tune_kernels({kernel}, options).front();
  auto by_hand = std::find_if(
      outcome.attempts.begin(), outcome.attempts.end(), [](const Attempt& a) { return a.round == 1; });
  if (by_hand == outcome.attempts.end())
    return Diagnostic{"gate", "not-proved", "nothing can be proved here: " + outcome.reason};
  write_output(fmt::format(
      "{}: {} ({}), {} branch arms reached\n",
      by_hand->name,
      by_hand->admitted ? "admitted" : "rejected by " + by_hand->stage,
      by_hand->isolation.empty() ? "not run" : by_hand->isolation,
      by_hand->arms));
  print_families(by_hand->families);
  write_output(explain(outcome, *target_of(kernel_device())));
  if (by_hand->admitted) return Success{};
  return Diagnostic{"gate", "rejected", "the source was rejected by " + by_hand->stage};
}

int gate_written(const GateArguments& arguments) {
  auto source = read_text(arguments.source);
  if (!source) {
    std::fputs(format(source.errors()).c_str(), stderr);
    return exit_bad_input;
  }
  TuneArguments tune = arguments.tune;
  tune.request.drafts = {
      {arguments.language.empty() ? language_of(arguments.source) : arguments.language, *source}};
  return with_tuning(tune, [&](const TuneOptions& options) {
    return with_parsed<Kernel>(
        arguments.path, parse_kernel, [&](Kernel kernel) { return gate_source(kernel, options); });
  });
}

}  // namespace

Action declare_gate(CLI::App& app) {
  auto arguments = std::make_shared<GateArguments>();
  add_input_option(app, arguments->path);
  app.add_option("--source", arguments->source, "a kernel somebody wrote, instead of the built-in ones");
  app.add_option("--language", arguments->language, "of the source: cpu, mlx, cuda, metal");
  add_proof_options(app, arguments->tune);
  return [arguments] {
    if (!arguments->source.empty()) return gate_written(*arguments);
    return with_parsed<Kernel>(
        arguments->path, parse_kernel, [&](Kernel kernel) { return gate_candidates(kernel, *arguments); });
  };
}

}  // namespace autoperfect::cli

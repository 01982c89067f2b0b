// generate, gate: from a kernel's text to candidates, and from a candidate to a verdict.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/input.h"
#include "compile/cpu/compile.h"
#include "gate/gate.h"
#include "generate/schedule/schedule.h"
#include "pipeline/region_runner.h"

namespace autoperfect::cli {

namespace {

struct GateArguments {
  std::string path;
  uint64_t seed = 0;
};

Status print_candidates(const Kernel& kernel) {
  auto candidates = generate_schedules(kernel, default_cpu_target());
  if (candidates.empty())
    return Diagnostic{
        "generate", "no-schedule", "the built-in schedules have no form for this kernel", {}, ""};
  for (const auto& candidate : candidates) {
    write_output("// " + candidate.provenance + "\n" + candidate.source + "\n");
  }
  return Success{};
}

void print_verdict(const Candidate& candidate, const Verdict& verdict) {
  write_output(fmt::format(
      "{}: {} in {:.0f} ms ({})\n",
      candidate.provenance,
      verdict.admitted ? "admitted" : "rejected",
      verdict.seconds * 1e3,
      verdict.isolation));
  for (const auto& family : verdict.families)
    write_output(fmt::format(
        "  {:<24} {}  worst {:.2f} ulp (eager {:.2f}) {}\n",
        family.family,
        family.passed ? "pass" : "FAIL",
        family.worst_ulp,
        family.eager_ulp,
        family.failure));
  for (const auto& failure : verdict.failures)
    write_output("  " + format(failure) + "\n");
}

// The gate on every built-in candidate; an error when one of them does not pass.
Status gate_candidates(const Kernel& kernel, const GateArguments& arguments) {
  auto& compiler = system_compiler();
  if (!compiler) return compiler.errors();
  mlx::core::set_default_device(mlx::core::Device::cpu);
  auto stream = mlx::core::default_stream(mlx::core::Device::cpu);
  RegionRunner runner(kernel, {}, stream);
  GateOptions options;
  options.seed = arguments.seed;
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

}  // namespace

Action declare_generate(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  add_input_option(app, *path);
  return [path] {
    return with_parsed<Kernel>(*path, parse_kernel, [](Kernel kernel) { return print_candidates(kernel); });
  };
}

Action declare_gate(CLI::App& app) {
  auto arguments = std::make_shared<GateArguments>();
  add_input_option(app, arguments->path);
  app.add_option("--seed", arguments->seed, "of the inputs; 0: drawn anew");
  return [arguments] {
    return with_parsed<Kernel>(
        arguments->path, parse_kernel, [&](Kernel kernel) { return gate_candidates(kernel, *arguments); });
  };
}

}  // namespace autoperfect::cli

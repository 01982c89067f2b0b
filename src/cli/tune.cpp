// tune: ask a model for kernels of a program or of one kernel, keep what is proved and fastest. The part of
// `gate` that proves and times a kernel somebody wrote.
#include "cli/tune.h"

#include <fmt/format.h>
#include <mlx/device.h>
#include <mlx/export.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "cli/input.h"
#include "cli/programs.h"
#include "pipeline/tune_kernels.h"
#include "tune/machine.h"

namespace autoperfect::cli {

namespace {

std::atomic<bool> interrupted = false;

// Ctrl-C ends the asking; what was won is in the cache by then. Twice ends the process.
class InterruptWatch {
 public:
  InterruptWatch() { before_ = std::signal(SIGINT, note); }
  ~InterruptWatch() { std::signal(SIGINT, before_); }

 private:
  static void note(int) {
    if (interrupted.exchange(true)) _exit(exit_interrupted);
  }
  void (*before_)(int);
};

struct Interrupted {};

Result<TuneOptions> options_of(const TuneArguments& arguments) {
  TuneRequest request = arguments.request;
  request.progress = request.progress || (!arguments.quiet && isatty(STDERR_FILENO) == 1);
  for (auto& setting : arguments.settings) {
    auto at = setting.find('=');
    if (at == std::string::npos)
      return Diagnostic{"cli", "setting", "'" + setting + "' is no setting", {}, "write NAME=VALUE"};
    request.settings[setting.substr(0, at)] = setting.substr(at + 1);
  }
  auto options = tune_options(request);
  if (options)
    options->poll = [] {
      if (interrupted) throw Interrupted{};
    };
  return options;
}

int stopped() {
  std::fputs("autoperfect: stopped; kernels that won so far are kept\n", stderr);
  return exit_interrupted;
}

Status tune_text(const std::string& text, const TuneOptions& options) {
  auto parsed = parse_any(text);
  if (!parsed) return parsed.errors();
  if (auto* kernel = std::get_if<Kernel>(&*parsed)) {
    auto outcomes = tune_kernels({*kernel}, options);
    write_output("kernel @" + kernel->name + "\n" + explain(outcomes.front(), *target_of(kernel_device())));
    return Success{};
  }
  if (auto* graph = std::get_if<Graph>(&*parsed)) {
    CompileOptions how;
    how.tune = options;
    return explain_graph(*graph, how);
  }
  return Diagnostic{"cli", "input", "tune takes a graph, a kernel, FILE.mlxfn, or module:function"};
}

}  // namespace

void add_tune_options(CLI::App& app, TuneArguments& arguments) {
  auto& request = arguments.request;
  request.model = "";
  app.add_option("--model", request.model, "who writes kernels: URL, command:..., folder:..., replay:...");
  app.add_option("--set", arguments.settings, "of the model: name=..., temperature=..., spending_limit=...");
  app.add_option("--language", request.language, "asked for: cpu, cuda or mlx; default: the device's own");
  app.add_option("--variants", request.variants, "drafts a round")->capture_default_str();
  app.add_option("--repairs", request.repairs, "of each variant that fails")->capture_default_str();
  app.add_option("--rounds", request.rounds, "later ones improve the best so far")->capture_default_str();
  app.add_option("--budget", request.budget, "seconds after which nothing more is asked; 0: no limit");
  app.add_flag("--progress", request.progress, "show it also when not on a terminal");
  app.add_flag("--quiet", arguments.quiet, "no progress display");
  add_proof_options(app, arguments);
}

void add_proof_options(CLI::App& app, TuneArguments& arguments) {
  auto& request = arguments.request;
  app.add_option("--seed", request.seed, "of the gate's inputs; 0: drawn anew");
  app.add_option(
      "--target",
      request.target,
      "a fixed description for prompts and estimates, not this machine; one of a GPU: on the GPU, if there "
      "is "
      "one");
  app.add_option("--isolation", request.isolation, "least level: none, process, seccomp, landlock");
  app.add_flag("!--untimed", request.timed, "choose by estimates, time nothing, keep nothing");
  app.add_flag("!--no-schedules", request.schedules, "leave the built-in generator out");
}

int with_tuning(const TuneArguments& arguments, const std::function<int(const TuneOptions&)>& use) {
  auto& request = arguments.request;
  bool on_gpu = request.target.starts_with("cuda.") || request.language == "cuda";
  for (auto& draft : request.drafts)
    on_gpu = on_gpu || draft.language == "cuda";
  on_gpu = on_gpu && mlx::core::is_available(mlx::core::Device::gpu);
  mlx::core::set_default_device(on_gpu ? mlx::core::Device::gpu : mlx::core::Device::cpu);
  auto options = options_of(arguments);
  if (!options) {
    std::fputs(format(options.errors()).c_str(), stderr);
    return exit_usage;
  }
  InterruptWatch watch;
  try {
    return use(*options);
  } catch (const Interrupted&) {
    return stopped();
  }
}

Action declare_tune(CLI::App& app) {
  struct Arguments {
    TuneArguments tune;
    ProgramArguments program;
  };
  auto arguments = std::make_shared<Arguments>();
  add_program_arguments(app, arguments->program, "a kernel or graph, FILE.mlxfn, or module:function");
  add_tune_options(app, arguments->tune);
  return [arguments] {
    return with_tuning(arguments->tune, [&](const TuneOptions& options) {
      auto& program = arguments->program;
      CompileOptions how;
      how.tune = options;
      if (is_exported(program.path)) return explain_exported(program, how);
      return with_text(program.path, [&](const std::string& text) { return tune_text(text, options); });
    });
  };
}

}  // namespace autoperfect::cli

#include <algorithm>
#include <map>
#include <mutex>

#include "cache/cache.h"
#include "compile/cuda/compile.h"
#include "dispatch/gpu_stream.h"
#include "dispatch/input_layout.h"
#include "generate/schedule/schedule.h"
#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "mlx/mlx.h"
#include "pipeline/dump.h"
#include "pipeline/pipeline.h"
#include "pipeline/region_runner.h"
#include "pipeline/steps.h"
#include "support/options.h"
#include "tune/machine.h"
#include "tune/tune.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;

// A schedule is known for its kernel, and MLX can run the kernel's own operations when ours cannot.
bool can_generate(
    const Graph& graph, const Region& region, const LowerOptions& options, const Target& target) {
  auto kernel = lower(graph, region, options);
  if (!kernel || !has_schedule(*kernel, target)) return false;
  try {
    raise(*kernel);
  } catch (const InternalError&) {
    return false;
  }
  return true;
}

std::vector<ValueId> input_values(const Canonical& canonical, const Graph& source) {
  std::vector<ValueId> values;
  for (auto& input : source.inputs)
    values.push_back(canonical.value_of_source[input.value]);
  return values;
}

// On a GPU mx.compile is several times faster than eager MLX, which replays op by op: a region that it won is
// its. On the CPU the two are one.
bool compiled_is_faster(const std::vector<Timing>& timings) {
  constexpr double margin = 0.1;
  const Timing *eager = nullptr, *compiled = nullptr;
  for (const auto& timing : timings) {
    if (timing.name == "eager") eager = &timing;
    if (timing.name == "mx.compile") compiled = &timing;
  }
  return eager && compiled && clearly_faster(*compiled, *eager, margin);
}

}  // namespace

const Target* target_of(const mx::Device& device) {
  if (device == mx::Device::cpu) return &this_machine();
  if (device != mx::Device(mx::Device::gpu, 0) || !GpuStream::available() || !cuda_compiler()) return nullptr;
  return this_gpu() ? &*this_gpu() : nullptr;
}

Program::Program(mx::Stream stream) : stream_(stream), target_(target_of(stream.device)) {}

std::shared_ptr<Program> Program::build(
    const ArrayFunction& fn,
    const std::vector<mx::array>& arguments,
    const CompileOptions& options,
    const SourceLines* lines) {
  auto program = std::shared_ptr<Program>(new Program(mx::default_stream(mx::default_device())));
  program->times_.run("capture", [&] { program->captured_ = capture(fn, arguments, lines); });
  dump("capture", [&] { return print(program->captured_.graph); });
  if (program->captured_.uses_tracers) return program;
  try {
    program->prepare(options, arguments);
  } catch (const InternalError& error) {
    if (options.strict) throw;
    // The outer door: our own bug must not cost the user an answer.
    warn_once("internal", std::string("internal error, plain MLX runs: ") + error.what());
    program->executables_.clear();
    program->outcomes_.clear();
    program->attentions_.clear();
    program->plain_ = true;
    program->runs_ = {};
    program->canonical_ = identity_of(program->captured_.graph);
    program->link();
  }
  return program;
}

void Program::prepare(const CompileOptions& options, const std::vector<mx::array>& arguments) {
  times_.run("canonicalize", [&] { canonical_ = canonicalize(captured_.graph); });
  dump("canonicalize", [&] { return print(canonical_.graph); });
  if (target_) {
    sources_ = find_sources(canonical_);
    auto fuse_options = options.fuse;
    if (!fuse_options.can_generate)
      fuse_options.can_generate = [&](const Graph& graph, const Region& region) {
        return can_generate(graph, region, options.lower, *target_) && is_on_one_device(region);
      };
    times_.run("attention", [&] { fuse_options.in_library = choose_attentions(options); });
    times_.run("fuse", [&] { plan_ = fuse(canonical_.graph, *target_, fuse_options); });
    dump("fuse", [&] { return print(canonical_.graph, plan_); });
    times_.run("lower", [&] { lower_regions(options.lower); });
    if (options.region_code != RegionCode::none)
      times_.run("tune", [&] { tune_regions(options, arguments); });
  }
  times_.run("link", [&] { link(); });
  if (options.region_code != RegionCode::none) times_.run("whole", [&] { choose_way(options, arguments); });
}

// What a program asks of another device than its own stays there.
bool Program::is_on_one_device(const Region& region) const {
  return std::all_of(region.nodes.begin(), region.nodes.end(), [&](NodeId id) {
    return std::all_of(
        canonical_.graph.nodes[id].results.begin(), canonical_.graph.nodes[id].results.end(), [&](ValueId v) {
          if (sources_[v] < 0) return true;
          NodeId producer = captured_.graph.values[sources_[v]].producer;
          if (producer < 0 || !captured_.primitives[producer]) return true;
          return captured_.primitives[producer]->stream().device == stream_.device;
        });
  });
}

void Program::lower_regions(const LowerOptions& options) {
  auto lines = std::make_shared<const std::vector<std::string>>(captured_.lines);
  for (auto& region : plan_.regions) {
    RegionOutcome outcome;
    outcome.region = region;
    if (auto kernel = lower(canonical_.graph, region, options)) {
      kernel->lines = lines;
      dump("lower", [&] { return print(*kernel); });
      outcome.signature = signature(*kernel);
      outcome.kernel = std::move(*kernel);
    } else {
      outcome.reason = format(kernel.errors());
    }
    outcomes_.push_back(std::move(outcome));
  }
}

void Program::tune_regions(const CompileOptions& options, const std::vector<mx::array>& arguments) {
  std::vector<TuneTask> tasks;
  std::vector<size_t> region_of_task;
  std::vector<std::unique_ptr<RegionRunner>> runners;
  executables_.resize(plan_.regions.size());
  for (size_t r = 0; r < outcomes_.size(); ++r) {
    auto& outcome = outcomes_[r];
    if (outcome.signature.empty()) continue;
    if (options.region_code == RegionCode::raised) {
      executables_[r] = make_executable(outcome.kernel, Runnable{});
      continue;
    }
    auto plain = [this, &outcome] { return plain_function(outcome.region, outcome.kernel); };
    runners.push_back(std::make_unique<RegionRunner>(outcome.kernel, plain, stream_));
    tasks.push_back({outcome.kernel, runners.back().get()});
    region_of_task.push_back(r);
  }
  TuneOptions tune_options = options.tune;
  if (options.region_code == RegionCode::untimed) tune_options.untimed_schedule = options.schedule;
  auto decisions = tune(tasks, *target_, tune_options);
  for (size_t t = 0; t < decisions.size(); ++t) {
    auto& decision = decisions[t];
    auto& outcome = outcomes_[region_of_task[t]];
    auto& executable = executables_[region_of_task[t]];
    if (!decision.use_mlx) {
      executable = make_executable(outcome.kernel, decision.runnable);
      plain_ = false;
    } else if (target_->capability && compiled_is_faster(decision.timings)) {
      auto compiled = mx::compile(plain_function(outcome.region, outcome.kernel));
      executable = std::make_shared<const Executable>(Executable{
          .kernel = outcome.kernel, .fallback = raise(outcome.kernel), .plain = std::move(compiled)});
    }
    outcome.take(std::move(decision));
  }
  bool takes_strides = !target_->capability;
  if (takes_strides &&
      (options.region_code == RegionCode::tuned || options.region_code == RegionCode::untimed))
    tune_strided(tune_options, arguments);
}

void RegionOutcome::take(Decision decision) {
  from_cache = decision.from_cache;
  use_mlx = decision.use_mlx;
  reason = std::move(decision.reason);
  winner = std::move(decision.winner);
  timings = std::move(decision.timings);
  evidence = std::move(decision.evidence);
  rejected = std::move(decision.rejected);
  attempts = std::move(decision.attempts);
}

// The region as MLX runs it, from the captured primitives; none where it holds only a part of one.
std::optional<ArrayFunction> Program::captured_function(const Region& region) const {
  auto steps = make_steps(captured_, canonical_, sources_, {}, region.inputs, region.outputs);
  if (!steps) return std::nullopt;
  return
      [this, plain = std::make_shared<const Steps>(std::move(*steps))](const std::vector<mx::array>& inputs) {
        return run_steps(*plain, captured_, canonical_.graph, inputs, stream_);
      };
}

// The same, or from its own operations.
ArrayFunction Program::plain_function(const Region& region, const Kernel& kernel) const {
  if (auto captured = captured_function(region)) return std::move(*captured);
  return [graph = raise(kernel)](const std::vector<mx::array>& inputs) { return interpret(graph, inputs); };
}

void Program::link() {
  std::vector<KernelChoice> kernels;
  for (size_t r = 0; r < executables_.size(); ++r)
    if (executables_[r]) kernels.push_back({&plan_.regions[r], executables_[r]});
  for (const auto& attention : attentions_)
    if (attention.used) kernels.push_back({&attention.region, attention.executable});
  sources_ = find_sources(canonical_);
  auto steps = make_steps(
      captured_,
      canonical_,
      sources_,
      kernels,
      input_values(canonical_, captured_.graph),
      canonical_.graph.outputs);
  if (!steps) throw InternalError("link: " + format(steps.errors()));
  steps_ = std::make_shared<const Steps>(std::move(*steps));
}

std::vector<mx::array> Program::call(const std::vector<mx::array>& arguments) const {
  if (!steps_) throw InternalError("call of a program that was not linked");
  auto run = [&](const std::vector<mx::array>& given) {
    return runs_ ? runs_(given) : run_steps(*steps_, captured_, canonical_.graph, given, stream_);
  };
  return captured_.constants.empty() ? run(arguments) : run(with_constants(arguments));
}

std::vector<mx::array> Program::with_constants(const std::vector<mx::array>& arguments) const {
  std::vector<mx::array> given = arguments;
  given.insert(given.end(), captured_.constants.begin(), captured_.constants.end());
  return given;
}

ArrayFunction compile(ArrayFunction fn, const CompileOptions& options) {
  struct State {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<Program>> programs;
  };
  auto state = std::make_shared<State>();
  return [fn = std::move(fn), options, state](const std::vector<mx::array>& arguments) {
    // A transformation around this call wants MLX's own operations.
    if (in_transformation()) return fn(arguments);
    std::string key;
    for (auto& array : arguments) {
      key += name(from_mlx(array.dtype()));
      for (auto n : array.shape())
        key += "," + std::to_string(n);
      if (is_strided(array))
        for (auto stride : layout_of(array).strides)
          key += "/" + std::to_string(stride);
      key += ";";
    }
    auto stream = mx::default_stream(mx::default_device());
    key += std::to_string(stream.index) + (stream.device == mx::Device::cpu ? "c" : "g");
    std::shared_ptr<Program> program;
    {
      std::lock_guard lock(state->mutex);
      auto& kept = state->programs[key];
      if (!kept) kept = Program::build(fn, arguments, options);
      program = kept;
    }
    return program->captured().uses_tracers ? fn(arguments) : program->call(arguments);
  };
}

}  // namespace autoperfect

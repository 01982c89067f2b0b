#include "tune/tune.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>

#include "cost/floor.h"
#include "generate/schedule/schedule.h"
#include "support/options.h"
#include "tune/evidence.h"
#include "tune/key.h"
#include "tune/life.h"
#include "tune/select.h"

namespace autoperfect {
namespace {

int64_t bytes_of(const Kernel& kernel) {
  int64_t bytes = 0;
  for (auto& buffer : kernel.buffers)
    bytes += buffer.type.bytes();
  return bytes;
}

// One log line a stage.
void timed(const char* stage, const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (seconds > 1e-3) log_info(std::string(stage) + ": " + std::to_string(seconds) + " s");
}

class Tuner {
 public:
  Tuner(const Target& target, const TuneOptions& options) : target_(target), options_(options) {}

  std::vector<Decision> run(const std::vector<TuneTask>& tasks) {
    lives_.reserve(tasks.size());
    for (auto& task : tasks)
      lives_.push_back(begin(task));
    timed("compile", [&] { compile_all(); });
    timed("gate", [&] { gate_all(); });
    timed("bench", [&] {
      for (auto& life : lives_)
        if (!life.settled) measure(life);
    });
    std::vector<Decision> decisions;
    for (auto& life : lives_)
      decisions.push_back(life.same_as ? life.same_as->decision : life.decision);
    return decisions;
  }

 private:
  Life begin(const TuneTask& task);
  void compile_all();
  void gate_all();
  void measure(Life& life);
  void use_untimed(Life& life);
  void select(Life& life);
  bool keeps() const { return !options_.untimed_schedule; }

  const Target& target_;
  const TuneOptions& options_;
  std::vector<Life> lives_;
};

Life Tuner::begin(const TuneTask& task) {
  Life life;
  life.task = &task;
  life.key = cache_key(task.kernel, target_);
  for (auto& earlier : lives_) {
    if (earlier.key != life.key) continue;
    life.same_as = earlier.same_as ? earlier.same_as : &earlier;
    life.settled = true;
    return life;
  }
  if (!options_.untimed_schedule && take_cached(life)) return life;
  if (!system_compiler().ok()) {
    warn_once("no-compiler", "no C++ compiler was found: plain MLX runs (set CXX or install g++)");
    life.decision.reason = "no compiler";
    life.settled = true;
    return life;
  }
  auto candidates = generate_schedules(task.kernel, target_);
  if (options_.untimed_schedule && !candidates.empty())
    candidates = {candidates[*options_.untimed_schedule % candidates.size()]};
  for (auto& candidate : candidates)
    life.contestants.push_back({std::move(candidate)});
  return life;
}

// Every candidate of every region at once, over all cores.
void Tuner::compile_all() {
  std::vector<Contestant*> all;
  for (auto& life : lives_)
    for (auto& contestant : life.contestants)
      all.push_back(&contestant);
  parallel_for(static_cast<int64_t>(all.size()), 0, [&](int64_t j, int) {
    auto& contestant = *all[static_cast<size_t>(j)];
    contestant.binary = compile_cpu(contestant.candidate.source, *system_compiler());
  });
}

// One examination a region, set after its candidates were compiled: nobody could prepare for these inputs.
void Tuner::gate_all() {
  std::random_device entropy;
  for (auto& life : lives_) {
    GateOptions options;
    options.seed = (static_cast<uint64_t>(entropy()) << 32 | entropy()) | 1;
    options.eager = [&](const std::vector<Tensor>& inputs) { return life.task->runner->eager(inputs); };
    for (auto& contestant : life.contestants)
      if (contestant.binary)
        contestant.verdict = gate(life.task->kernel, contestant.candidate, *contestant.binary, options);
  }
}

// What this machine lacked at the moment says nothing about the kernel.
bool is_lacking(const Contestant& contestant) {
  auto& failures = contestant.verdict.failures;
  return std::any_of(failures.begin(), failures.end(), [](const Diagnostic& d) {
    return d.code == "no-worker" || d.code == "no-memory";
  });
}

void Tuner::measure(Life& life) {
  bool any = !life.contestants.empty();
  bool lacking = std::any_of(life.contestants.begin(), life.contestants.end(), is_lacking);
  keep_admitted(life, keeps());
  if (!life.contestants.empty()) return options_.untimed_schedule ? use_untimed(life) : select(life);
  auto& decision = life.decision;
  decision.reason = any ? "no candidate passed: " + decision.rejected.front()
                        : "the built-in schedules have no form for it";
  decision.evidence = evidence_text({decision.reason, {}});
  if (!keeps()) return;
  if (lacking)
    warn_once("gate-unable", "kernels cannot be proved here, plain MLX runs: " + decision.rejected.front());
  else
    store(life, nullptr);  // a kernel that could not be made is not tried again by every process
}

void Tuner::use_untimed(Life& life) {
  auto& used = life.contestants.front();
  auto& decision = life.decision;
  decision.use_mlx = false;
  decision.winner = used.candidate;
  decision.loaded = used.loaded;
  decision.reason = "not timed";
  decision.evidence = evidence_text({decision.reason, {}, 0, &used.verdict});
}

void Tuner::select(Life& life) {
  auto& decision = life.decision;
  auto& runner = *life.task->runner;
  auto contenders = runner.baselines();
  size_t baselines = contenders.size();
  for (auto& contestant : life.contestants)
    contenders.push_back(runner.contender(contestant.loaded, contestant.candidate.provenance));
  decision.timings = bench(contenders, options_.bench);
  std::vector<Score> scores;
  const double floor = physical_floor_seconds(life.task->kernel, target_);
  for (size_t c = 0; c < life.contestants.size(); ++c) {
    auto& timing = decision.timings[baselines + c];
    if (!timing.failed && timing.median < floor) {
      timing.failed = true;
      timing.error = "faster than memory and arithmetic allow: it has not done its work";
    }
    auto& candidate = life.contestants[c].candidate;
    scores.push_back({timing, candidate.source});
    if (timing.failed) reject(life, candidate, "cannot be timed: " + timing.error, keeps());
  }
  Record record{"no candidate could be timed", decision.timings, bytes_of(life.task->kernel)};
  const Contestant* winner = nullptr;
  if (auto best = best_of(scores)) {
    auto& fastest = life.contestants[*best];
    std::vector<Timing> theirs(
        decision.timings.begin(), decision.timings.begin() + static_cast<ptrdiff_t>(baselines));
    record.verdict = &fastest.verdict;
    record.reason = "MLX is as fast";
    std::string wrong = runner.recheck(fastest.loaded);
    if (!wrong.empty()) {
      reject(life, fastest.candidate, "wrong at full size: " + wrong, keeps());
      record.reason = "the fastest candidate was wrong at full size";
    } else if (beats_all(scores[*best].timing, theirs, options_.margin)) {
      record.reason = "faster than MLX";
      winner = &fastest;
      decision.use_mlx = false;
      decision.winner = fastest.candidate;
      decision.loaded = fastest.loaded;
    }
  }
  decision.reason = record.reason;
  decision.evidence = evidence_text(record);
  store(life, winner);
}

}  // namespace

std::vector<Decision> tune(
    const std::vector<TuneTask>& tasks, const Target& target, const TuneOptions& options) {
  return Tuner(target, options).run(tasks);
}

}  // namespace autoperfect

#include "tune/tune.h"

#include <chrono>
#include <functional>

#include "compile/cuda/compile.h"
#include "gate/gpu_worker.h"
#include "generate/language/language.h"
#include "generate/schedule/schedule.h"
#include "support/options.h"
#include "tune/compete.h"
#include "tune/evidence.h"
#include "tune/key.h"
#include "tune/prove.h"
#include "tune/rounds.h"

namespace autoperfect {
namespace {

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

  std::vector<Decision> run(const std::vector<TuneTask>& tasks);

 private:
  struct Proposal {
    Life* life;
    Contestant contestant;
    std::optional<Failure> failure;
  };
  void begin(const TuneTask& task);
  bool is_known(Life& life);
  void propose(Life& life);
  void compile_all();
  void gate_all();
  void compete_all();
  void use_untimed(Life& life);
  void conclude(Life& life);
  bool keeps() const { return options_.timed && !options_.untimed_schedule; }

  const Target& target_;
  const TuneOptions& options_;
  std::vector<Life> lives_;
  std::vector<Proposal> proposals_;  // that no draft is needed for
};

std::vector<Decision> Tuner::run(const std::vector<TuneTask>& tasks) {
  lives_.reserve(tasks.size());
  for (auto& task : tasks)
    begin(task);
  timed("compile", [&] { compile_all(); });
  timed("gate", [&] { gate_all(); });
  if (target_.capability) end_gpu_worker();
  timed("bench", [&] { compete_all(); });
  if (options_.authors.any()) Rounds(lives_, target_, options_).run();
  if (target_.capability) end_gpu_worker();
  std::vector<Decision> decisions;
  for (auto& life : lives_) {
    if (!life.settled) conclude(life);
    decisions.push_back(life.same_as ? life.same_as->decision : life.decision);
  }
  return decisions;
}

void Tuner::begin(const TuneTask& task) {
  auto& life = lives_.emplace_back();
  life.task = &task;
  life.key = cache_key(task.kernel, target_);
  life.judged = options_.authors.any() ? with_neutral_names(task.kernel) : task.kernel;
  life.settled = is_known(life);
  if (!life.settled) propose(life);
}

bool Tuner::is_known(Life& life) {
  for (auto& earlier : lives_) {
    if (&earlier == &life || earlier.key != life.key) continue;
    life.same_as = earlier.same_as ? earlier.same_as : &earlier;
    return true;
  }
  if (keeps() && !options_.authors.any() && take_cached(life, target_)) return true;
  if (target_.capability ? cuda_compiler().ok() : system_compiler().ok()) return false;
  if (target_.capability)
    warn_once("no-nvrtc", format(cuda_compiler().errors()));
  else
    warn_once("no-compiler", "no C++ compiler was found: plain MLX runs (set CXX or install g++)");
  life.decision.reason = "no compiler";
  return true;
}

// The schedules, and what a model or a person won with before.
void Tuner::propose(Life& life) {
  std::vector<Candidate> candidates;
  if (options_.schedules) candidates = generate_schedules(life.judged, target_);
  if (options_.untimed_schedule && !candidates.empty())
    candidates = {candidates[*options_.untimed_schedule % candidates.size()]};
  for (auto& candidate : candidates) {
    Contestant contestant;
    contestant.built_in = true;
    contestant.attempt.name = candidate.provenance;
    contestant.attempt.variant = static_cast<int>(proposals_.size());
    contestant.candidate = std::move(candidate);
    proposals_.push_back({&life, std::move(contestant), {}});
  }
  if (!keeps()) return;
  if (auto earlier = earlier_winner(life)) proposals_.push_back({&life, std::move(*earlier), {}});
}

// Every candidate of every region at once, over all cores.
void Tuner::compile_all() {
  parallel_for(static_cast<int64_t>(proposals_.size()), 0, [&](int64_t j, int) {
    auto& proposal = proposals_[static_cast<size_t>(j)];
    proposal.failure = build(proposal.contestant, proposal.life->kernel(), target_);
  });
}

// One examination a region, set after its candidates were compiled: nobody could prepare for these inputs.
void Tuner::gate_all() {
  for (auto& [life, contestant, failure] : proposals_) {
    if (!failure) failure = prove(contestant, *life, target_, options_);
    if (failure)
      reject(*life, std::move(contestant), failure->reason(), keeps());
    else
      life->admitted.push_back(std::move(contestant));
  }
}

void Tuner::compete_all() {
  for (auto& life : lives_) {
    if (life.settled || life.admitted.empty()) continue;
    if (options_.untimed_schedule)
      use_untimed(life);
    else
      compete(life, target_, options_);
  }
}

void Tuner::use_untimed(Life& life) {
  auto& used = life.admitted.front();
  auto& decision = life.decision;
  decision.use_mlx = false;
  decision.winner = used.candidate;
  decision.runnable = used.runnable;
  decision.reason = "not timed";
  decision.evidence = evidence_text(life, false);
}

// Whose candidates all fell, or that had none.
void Tuner::conclude(Life& life) {
  auto& decision = life.decision;
  life.settled = true;
  if (decision.reason.empty())
    decision.reason = !decision.rejected.empty() ? "no candidate passed: " + decision.rejected.front()
                      : options_.schedules       ? "the built-in schedules have no form for it"
                                                 : "there is no candidate for it yet";
  bool competed = !life.admitted.empty() || !decision.timings.empty();
  if (!competed) decision.evidence = evidence_text(life, keeps());
  decision.attempts = attempts_of(life);
  if (competed) return;
  if (!keeps()) return;
  // What this machine lacked at the moment says nothing about the kernel.
  if (life.gate_is_unable)
    warn_once("gate-unable", "kernels cannot be proved here, plain MLX runs: " + decision.rejected.front());
  else
    store(life, nullptr);  // a kernel that could not be made is not tried again by every process
}

}  // namespace

std::vector<Decision> tune(
    const std::vector<TuneTask>& tasks, const Target& target, const TuneOptions& options) {
  return Tuner(target, options).run(tasks);
}

}  // namespace autoperfect

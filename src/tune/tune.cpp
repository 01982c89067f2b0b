#include "tune/tune.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "support/options.h"
#include "tune/key.h"

namespace autoperfect {
namespace {

using nlohmann::json;

json to_json(const Timing& t) {
  return {
      {"name", t.name}, {"median", t.median}, {"low", t.low}, {"high", t.high}, {"iterations", t.iterations}};
}

json to_json(const Verdict& verdict) {
  json families = json::array();
  for (auto& f : verdict.families)
    families.push_back(
        {{"family", f.family}, {"passed", f.passed}, {"worst_ulp", f.worst_ulp}, {"eager_ulp", f.eager_ulp}});
  return {{"admitted", verdict.admitted}, {"isolation", verdict.isolation}, {"families", families}};
}

int64_t bytes_of(const Kernel& kernel) {
  int64_t bytes = 0;
  for (auto& buffer : kernel.buffers)
    bytes += buffer.type.bytes();
  return bytes;
}

struct Compiled {
  Candidate candidate;
  std::string binary;
  std::shared_ptr<LoadedKernel> loaded;
  Verdict verdict;
};

// One log line a stage.
void timed(const char* stage, const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (seconds > 1e-3) log_info(std::string(stage) + ": " + std::to_string(seconds) + " s");
}

// One region on its way through the stages.
struct Life {
  const TuneTask* task = nullptr;
  std::string key;
  Decision decision;
  bool settled = false;
  std::vector<Candidate> candidates;
  std::vector<Result<std::string>> binaries;
  std::vector<Verdict> verdicts;
  const Life* same_as = nullptr;  // an earlier region with the same key
};

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
  bool take_cached(Life& life);
  std::vector<std::pair<Life*, size_t>> jobs();
  void compile_all();
  void gate_all();
  void measure(Life& life);
  std::vector<Compiled> admit(Life& life);
  void use_untimed(Life& life, Compiled& compiled);
  void select(Life& life, std::vector<Compiled>& admitted);
  void reject(Life& life, const Candidate& candidate, const std::string& reason);
  void settle(Life& life, const std::string& reason, const json& evidence);

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
  life.candidates = generate_schedules(task.kernel, target_);
  if (options_.untimed_schedule && !life.candidates.empty())
    life.candidates = {life.candidates[*options_.untimed_schedule % life.candidates.size()]};
  return life;
}

bool Tuner::take_cached(Life& life) {
  auto entry = Cache::instance().find(life.key);
  if (!entry) return false;
  Decision& decision = life.decision;
  if (!entry->use_mlx) {
    auto loaded = load_cpu(entry->binary, entry->candidate.launch);
    if (!loaded) return false;
    decision.loaded = *loaded;
  }
  decision.use_mlx = entry->use_mlx;
  decision.from_cache = true;
  decision.winner = entry->candidate;
  decision.evidence = entry->evidence;
  auto evidence = json::parse(entry->evidence, nullptr, false);
  if (evidence.is_object()) {
    decision.reason = evidence.value("reason", "");
    for (auto& row : evidence.value("timings", json::array()))
      decision.timings.push_back(
          {row.value("name", ""),
           row.value("median", 0.0),
           row.value("low", 0.0),
           row.value("high", 0.0),
           row.value("iterations", 0),
           false,
           {}});
  }
  return life.settled = true;
}

// Every candidate of every region.
std::vector<std::pair<Life*, size_t>> Tuner::jobs() {
  std::vector<std::pair<Life*, size_t>> jobs;
  for (auto& life : lives_)
    for (size_t c = 0; c < life.candidates.size(); ++c)
      jobs.push_back({&life, c});
  return jobs;
}

// All at once, over all cores.
void Tuner::compile_all() {
  for (auto& life : lives_) {
    life.binaries.assign(life.candidates.size(), Diagnostic{"compile", "not-run", "was not compiled"});
    life.verdicts.resize(life.candidates.size());
  }
  auto all = jobs();
  parallel_for(static_cast<int64_t>(all.size()), 0, [&](int64_t j, int) {
    auto& [life, c] = all[static_cast<size_t>(j)];
    life->binaries[c] = compile_cpu(life->candidates[c].source, *system_compiler());
  });
}

// One examination a region, set after its candidates were compiled: nobody could prepare for these inputs.
void Tuner::gate_all() {
  std::random_device entropy;
  for (auto& life : lives_) {
    GateOptions options;
    options.seed = (static_cast<uint64_t>(entropy()) << 32 | entropy()) | 1;
    options.eager = [&](const std::vector<Tensor>& inputs) { return life.task->runner->eager(inputs); };
    for (size_t c = 0; c < life.candidates.size(); ++c)
      if (life.binaries[c])
        life.verdicts[c] = gate(life.task->kernel, life.candidates[c], *life.binaries[c], options);
  }
}

void Tuner::reject(Life& life, const Candidate& candidate, const std::string& reason) {
  life.decision.rejected.push_back(candidate.provenance + ": " + reason);
  if (!options_.untimed_schedule) Cache::instance().store_rejected(life.key, candidate, reason);
  log_info("rejected " + candidate.provenance + ": " + reason);
}

// Compiled, loaded and through the gate.
std::vector<Compiled> Tuner::admit(Life& life) {
  std::vector<Compiled> admitted;
  for (size_t c = 0; c < life.candidates.size(); ++c) {
    auto& candidate = life.candidates[c];
    if (!life.binaries[c]) {
      reject(life, candidate, "does not compile: " + format(life.binaries[c].errors(), candidate.source));
      continue;
    }
    Verdict& verdict = life.verdicts[c];
    if (!verdict.admitted) {
      reject(life, candidate, verdict.failures.empty() ? "gate" : format(verdict.failures));
      continue;
    }
    auto loaded = load_cpu(*life.binaries[c], candidate.launch);
    if (!loaded) {
      reject(life, candidate, format(loaded.errors()));
      continue;
    }
    admitted.push_back({candidate, std::move(*life.binaries[c]), *loaded, std::move(verdict)});
  }
  return admitted;
}

void Tuner::settle(Life& life, const std::string& reason, const json& evidence) {
  life.decision.reason = reason;
  life.decision.evidence = evidence.dump();
  life.settled = true;
}

void Tuner::measure(Life& life) {
  auto admitted = admit(life);
  if (!admitted.empty())
    return options_.untimed_schedule ? use_untimed(life, admitted[0]) : select(life, admitted);
  std::string reason = life.candidates.empty() ? "the built-in schedules have no form for it"
                                               : "no candidate passed: " + life.decision.rejected.front();
  json evidence = {{"reason", reason}, {"timings", json::array()}};
  settle(life, reason, evidence);
  if (options_.untimed_schedule) return;
  // What this machine lacked at the moment says nothing about the kernel.
  auto lacking = [](const Verdict& verdict) {
    return std::any_of(verdict.failures.begin(), verdict.failures.end(), [](const Diagnostic& d) {
      return d.code == "no-worker" || d.code == "no-memory";
    });
  };
  if (std::any_of(life.verdicts.begin(), life.verdicts.end(), lacking)) {
    warn_once(
        "gate-unable", "kernels cannot be proved here, plain MLX runs: " + life.decision.rejected.front());
    return;
  }
  // A kernel that could not be made is not tried again by every process.
  CacheEntry entry{life.key, print(life.task->kernel), true, {}, "", life.decision.evidence};
  Cache::instance().store(entry);
}

// The fastest whose lead is significant; among equals the shorter source, then the lower hash.
size_t best_of(const std::vector<Compiled>& admitted, const std::vector<Timing>& timings, size_t first) {
  size_t best = admitted.size();
  for (size_t c = 0; c < admitted.size(); ++c) {
    auto& t = timings[first + c];
    if (t.failed) continue;
    if (best == admitted.size()) {
      best = c;
      continue;
    }
    auto& champion = timings[first + best];
    bool faster = clearly_faster(t, champion, 0), slower = clearly_faster(champion, t, 0);
    bool simpler = admitted[c].candidate.source.size() < admitted[best].candidate.source.size();
    if (faster || (!slower && simpler && t.median < champion.median * 1.02)) best = c;
  }
  return best;
}

void Tuner::use_untimed(Life& life, Compiled& compiled) {
  life.decision.use_mlx = false;
  life.decision.winner = compiled.candidate;
  life.decision.loaded = compiled.loaded;
  settle(life, "not timed", {{"gate", to_json(compiled.verdict)}});
}

void Tuner::select(Life& life, std::vector<Compiled>& admitted) {
  auto contenders = life.task->runner->baselines();
  size_t baselines = contenders.size();
  for (auto& compiled : admitted)
    contenders.push_back(life.task->runner->contender(compiled.loaded, compiled.candidate.provenance));
  Decision& decision = life.decision;
  decision.timings = bench(contenders, options_.bench);
  for (size_t c = 0; c < admitted.size(); ++c) {
    auto& t = decision.timings[baselines + c];
    if (t.failed) reject(life, admitted[c].candidate, "cannot be timed: " + t.error);
  }
  size_t best = best_of(admitted, decision.timings, baselines);
  json evidence = {{"timings", json::array()}, {"bytes", bytes_of(life.task->kernel)}};
  for (auto& t : decision.timings)
    if (!t.failed) evidence["timings"].push_back(to_json(t));
  CacheEntry entry{life.key, print(life.task->kernel), true, {}, "", ""};
  std::string reason = "no candidate could be timed";
  if (best < admitted.size()) {
    auto& winner = admitted[best];
    auto& time = decision.timings[baselines + best];
    bool wins = true;
    for (size_t b = 0; b < baselines; ++b)
      wins =
          wins && (decision.timings[b].failed || clearly_faster(time, decision.timings[b], options_.margin));
    std::string wrong = life.task->runner->recheck(winner.loaded);
    reason = wins ? "faster than MLX" : "MLX is as fast";
    if (!wrong.empty()) {
      reject(life, winner.candidate, "wrong at full size: " + wrong);
      reason = "the fastest candidate was wrong at full size";
    } else if (wins) {
      decision.use_mlx = entry.use_mlx = false;
      decision.winner = entry.candidate = winner.candidate;
      decision.loaded = winner.loaded;
      entry.binary = std::move(winner.binary);
    }
    evidence["gate"] = to_json(winner.verdict);
  }
  evidence["reason"] = reason;
  settle(life, reason, evidence);
  entry.evidence = decision.evidence;
  Cache::instance().store(entry);
}

}  // namespace

std::vector<Decision> tune(
    const std::vector<TuneTask>& tasks, const Target& target, const TuneOptions& options) {
  return Tuner(target, options).run(tasks);
}

}  // namespace autoperfect

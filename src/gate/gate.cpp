#include "gate/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>

#include "gate/examination.h"
#include "gate/sitting.h"

namespace autoperfect {
namespace {

using Clock = std::chrono::steady_clock;

Diagnostic failure(const std::string& code, const std::string& message) {
  return {"gate", code, message};
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t seed_of(const GateOptions& options) {
  return options.seed ? options.seed : std::random_device()() | 1ull << 32;
}

// A family's result among the others, and why the candidate fails when it does.
void report(Verdict& verdict, FamilyResult result, const std::string& build = "") {
  if (!result.passed) {
    bool is_memory = result.failure.find(": expected") == std::string::npos;
    verdict.failures.push_back(failure(
        is_memory ? "bad-write" : "wrong-result",
        fmt::format(
            "{}{} (inputs: {}){}", is_memory ? "the kernel " : "", result.failure, result.family, build)));
    if (verdict.failures.size() == 1) verdict.places = result.places;
  }
  verdict.families.push_back(std::move(result));
}

class Gate {
 public:
  Gate(
      const Kernel& kernel, const Candidate& candidate, const std::string& binary, const GateOptions& options)
      : kernel_(kernel),
        candidate_(candidate),
        binary_(binary),
        options_(options),
        reached_(options.arms.size(), false) {}

  Verdict run() {
    auto start = Clock::now();
    auto status = examine_all();
    if (!status) {
      auto errors = status.errors();
      verdict_.failures.insert(verdict_.failures.end(), errors.begin(), errors.end());
    }
    verdict_.admitted = verdict_.failures.empty() && !verdict_.families.empty();
    verdict_.seconds = seconds_since(start);
    return std::move(verdict_);
  }

 private:
  Status examine_all() {
    for (AxisId axis : candidate_.launch.parallel) {
      if (axis < 0 || axis >= static_cast<AxisId>(kernel_.axes.size())) {
        return failure("bad-launch", "the launch names an axis the kernel does not have");
      }
    }
    if (auto possible = can_be_examined(kernel_); !possible) return possible;
    if (required() > Isolation::none && isolation_available() < required())
      return failure(
          "isolation",
          fmt::format(
              "this machine isolates a kernel as far as '{}', and '{}' is required",
              name_of(isolation_available()),
              name_of(required())));
    seed_ = seed_of(options_);
    auto common = common_examination(kernel_, seed_, options_, candidate_.guards);
    if (!common) return common.errors();
    if (auto passed = examine(**common); !passed || !verdict_.failures.empty()) return passed;
    auto passed = examine_more(make_constant_families(
        kernel_, seed_ + 1, options_.max_elements, options_.constants, candidate_.guards));
    if (!passed || !verdict_.failures.empty()) return passed;
    return reach_all_arms();
  }

  // The plain build, then the watched one, which notes the arms it reaches.
  Status examine(const Examination& examination) {
    auto sitting = sit_build(binary_, examination.families, {});
    if (!sitting) return sitting.errors();
    verdict_.isolation = sitting->outcome.isolation;
    verdict_.level = sitting->outcome.level;
    if (!sitting->outcome.finished) return report_end(*sitting, examination.families);
    for (auto& result : judge_sitting(*sitting, examination))
      report(verdict_, std::move(result));
    if (!verdict_.failures.empty() || !options_.watched_binary) return Success{};
    return examine_watched(examination);
  }

  Status examine_watched(const Examination& examination) {
    auto start = Clock::now();
    auto sitting = sit_build(*options_.watched_binary, examination.families, {true, options_.arms.size()});
    if (!sitting) return sitting.errors();
    if (!sitting->outcome.finished) return report_end(*sitting, examination.families);
    for (auto& result : judge_sitting(*sitting, examination))
      if (!result.passed) report(verdict_, std::move(result), " when it is watched");
    for (size_t f = 0; f < examination.families.size(); ++f)
      note_arms(*sitting, f);
    verdict_.watched_seconds += seconds_since(start);
    return Success{};
  }

  Result<Sitting> sit_build(
      const std::string& binary, const std::vector<InputFamily>& families, BuildForm form) {
    form.alignment = candidate_.guards.alignment;
    form.on_gpu = on_gpu();
    form.second = candidate_.second;
    return sit(kernel_, candidate_.launch, binary, families, form, options_);
  }

  // What runs on a GPU makes no system calls: a process of its own is all there is to ask for.
  Isolation required() const {
    return on_gpu() ? std::min(options_.required, Isolation::process) : options_.required;
  }

  bool on_gpu() const { return candidate_.language == "cuda"; }

  Status examine_more(std::vector<InputFamily> families) {
    if (families.empty()) return Success{};
    auto examination = make_examination(std::move(families), options_.eager);
    if (!examination) return examination.errors();
    return examine(**examination);
  }

  // Whether this family reached an arm no other had.
  bool note_arms(const Sitting& sitting, size_t family) {
    bool is_new = false;
    for (size_t arm = 0; arm < reached_.size(); ++arm) {
      if (reached_[arm] || !sitting.reached(family, arm)) continue;
      reached_[arm] = is_new = true;
    }
    return is_new;
  }

  bool all_reached() const { return std::find(reached_.begin(), reached_.end(), false) == reached_.end(); }

  // An arm that no input reached proves nothing. Inputs found here are examined like all others.
  Status reach_all_arms() {
    if (!options_.watched_binary) return Success{};
    verdict_.arms = options_.arms.size();
    for (int round = 0; round < search_rounds && !all_reached(); ++round) {
      auto families = make_search_families(
          kernel_,
          seed_ + 2 + static_cast<uint64_t>(round),
          round,
          options_.max_elements,
          options_.constants,
          candidate_.guards);
      auto found = families_that_reach_more(std::move(families), false);
      if (!found) return found.errors();
      for (auto& family : *found)
        verdict_.searched.push_back(family.name);
      auto passed = examine_more(std::move(*found));
      if (!passed || !verdict_.failures.empty()) return passed;
    }
    if (!all_reached() && !on_gpu()) note_arms_of_empty_calls();
    for (size_t arm = 0; arm < reached_.size(); ++arm)
      if (!reached_[arm]) report_arm(options_.arms[arm]);
    return Success{};
  }

  Result<std::vector<InputFamily>> families_that_reach_more(
      std::vector<InputFamily> families, bool empty_chunks) {
    if (families.empty()) return families;
    auto start = Clock::now();
    constexpr int search_passes = 2;  // both placements, both ways to cut
    auto sitting = sit_build(
        *options_.watched_binary, families, {true, options_.arms.size(), empty_chunks, search_passes});
    if (!sitting) return sitting.errors();
    if (!sitting->outcome.finished) return report_end(*sitting, families).errors();
    std::vector<InputFamily> found;
    for (size_t f = 0; f < families.size(); ++f)
      if (note_arms(*sitting, f)) found.push_back(std::move(families[f]));
    verdict_.watched_seconds += seconds_since(start);
    return found;
  }

  // `if (begin >= end) return;`: nothing can be wrong about it, but it has to be reached.
  void note_arms_of_empty_calls() {
    auto families = make_families(kernel_, seed_, options_.max_elements, candidate_.guards);
    families.resize(std::min<size_t>(families.size(), 1));
    (void)families_that_reach_more(std::move(families), true);
  }

  void report_arm(const Arm& arm) {
    Diagnostic unproved = failure(
        "arm-not-reached",
        fmt::format("no input that was tried reaches this branch ({}), so it is not proved", arm.what));
    unproved.where.line = arm.line;
    unproved.hint = "leave it out, or decide by something inputs of these shapes and types can reach";
    verdict_.failures.push_back(unproved);
  }

  // The helper did not get to the end: the family it was at is the one that failed.
  Status report_end(const Sitting& sitting, const std::vector<InputFamily>& families) {
    const WorkerOutcome& outcome = sitting.outcome;
    std::string place;
    if (outcome.run >= 0) {
      FamilyResult result;
      result.family =
          families[static_cast<size_t>(sitting.job.runs[static_cast<size_t>(outcome.run)].family)].name;
      result.failure = outcome.failure;
      place = fmt::format(" (inputs: {})", result.family);
      verdict_.families.push_back(result);
    }
    Diagnostic end = failure(outcome.code, "the kernel " + outcome.failure + place);
    end.where.line = static_cast<int>(outcome.line);
    return end;
  }

  const Kernel& kernel_;
  const Candidate& candidate_;
  const std::string& binary_;
  const GateOptions& options_;
  std::vector<bool> reached_;
  uint64_t seed_ = 0;
  Verdict verdict_;
};

// Twice: what is not the same again is no function of its inputs.
FamilyResult judge_graph(
    const InputFamily& family, const References& references, const EagerRunner& evaluate) {
  FamilyResult result;
  result.family = family.name;
  auto outputs = evaluate(family.inputs), again = evaluate(family.inputs);
  if (!outputs || !again) {
    result.failure = "cannot be evaluated: " + (outputs ? again : outputs).errors().at(0).message;
    return result;
  }
  bool fits = outputs->size() == references.exact.size();
  for (size_t i = 0; fits && i < outputs->size(); ++i)
    fits = (*outputs)[i].type == references.exact[i].type;
  if (!fits) {
    result.failure = "gives outputs of other types than the kernel's";
    return result;
  }
  result = judge(family, references, *outputs);
  for (size_t i = 0; result.passed && i < outputs->size(); ++i) {
    if ((*outputs)[i].bytes == (*again)[i].bytes) continue;
    result.passed = false;
    result.failure = "gives other results when it is evaluated again";
  }
  return result;
}

Kernel with_fixed_sizes(Kernel kernel) {
  for (auto& axis : kernel.axes)
    axis.dynamic = false;
  for (auto& buffer : kernel.buffers)
    std::fill(buffer.dynamic_dims.begin(), buffer.dynamic_dims.end(), -1);
  return kernel;
}

Status examine_graph(
    Verdict& verdict, const Kernel& kernel, const EagerRunner& evaluate, const GateOptions& options) {
  if (auto possible = can_be_examined(kernel); !possible) return possible;
  auto examination = common_examination(kernel, seed_of(options), options);
  if (!examination) return examination.errors();
  const auto& families = (*examination)->families;
  for (size_t f = 0; f < families.size(); ++f)
    report(verdict, judge_graph(families[f], (*examination)->references[f], evaluate));
  return Success{};
}

}  // namespace

Verdict gate(
    const Kernel& kernel, const Candidate& candidate, const std::string& binary, const GateOptions& options) {
  return Gate(kernel, candidate, binary, options).run();
}

Verdict gate(const Kernel& kernel, const EagerRunner& evaluate, bool own_sizes, const GateOptions& options) {
  auto start = Clock::now();
  Verdict verdict;
  auto status = examine_graph(verdict, own_sizes ? with_fixed_sizes(kernel) : kernel, evaluate, options);
  if (!status) verdict.failures = status.errors();
  verdict.admitted = verdict.failures.empty() && !verdict.families.empty();
  verdict.isolation = "MLX's own operations";
  verdict.seconds = seconds_since(start);
  return verdict;
}

}  // namespace autoperfect

#include "tune/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "ir/kernel_text.h"
#include "support/hash.h"
#include "support/options.h"

namespace autoperfect {
namespace {

// Drafts that answer evidence of a gate are judged on inputs nobody has seen: a seed for each number of
// repairs, drawn when the first of them comes, which is after it was compiled.
uint64_t seed_for(Life& life, int repair, const TuneOptions& options) {
  auto& seed = life.seeds[repair];
  if (seed) return seed;
  if (options.seed) {
    // Not of the key, which knows the machine: what is asked of a model is the same everywhere.
    auto digest = hash_hex(fmt::format("{} {} {}", options.seed, repair, signature(life.kernel())));
    return seed = std::stoull(digest.substr(0, 15), nullptr, 16) | 1;
  }
  std::random_device entropy;
  return seed = (static_cast<uint64_t>(entropy()) << 32 | entropy()) | 1;
}

bool is_unable(const Diagnostic& failure) {
  return failure.code == "no-worker" || failure.code == "no-memory" || failure.code == "no-gpu" ||
         failure.code == "isolation";
}

// The first failure, and the names of the families that failed and passed beside it.
std::string evidence_of(const Verdict& verdict) {
  std::string text = verdict.failures.empty() ? "the gate did not admit it" : format(verdict.failures[0]);
  std::string failed, passed;
  for (auto& family : verdict.families) {
    auto& list = family.passed ? passed : failed;
    list += (list.empty() ? "" : ", ") + family.family;
  }
  while (text.ends_with('\n'))
    text.pop_back();
  if (passed.empty()) return text + "\n  no other inputs passed\n";
  if (!failed.empty()) text += "\n  inputs that failed: " + failed;
  return text + "\n  inputs that passed: " + passed + "\n";
}

std::optional<int64_t> dynamic_size(const Kernel& kernel) {
  for (auto& axis : kernel.axes)
    if (axis.dynamic) return axis.size;
  return std::nullopt;
}

Kernel kernel_for(const Kernel& kernel, const std::vector<Tensor>& inputs) {
  size_t next = 0;
  for (auto& buffer : kernel.buffers) {
    if (buffer.role != BufferRole::in) continue;
    auto& shape = inputs.at(next++).type.shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (buffer.dynamic_dims[d] >= 0) return with_dynamic_size(kernel, shape[d]);
  }
  return kernel;
}

// The text is read again for the sizes of each family.
Verdict gate_text(Contestant& contestant, Life& life, const Target& target, const GateOptions& options) {
  auto& kernel = life.judged;
  auto& draft = *contestant.draft;
  EagerRunner evaluate = [&](const std::vector<Tensor>& inputs) -> Result<std::vector<Tensor>> {
    auto checked = check(kernel_for(kernel, inputs), draft, target);
    if (!checked) return checked.errors();
    return life.runner().evaluate(*checked->graph, inputs);
  };
  auto size = dynamic_size(kernel);
  bool own_sizes = size && !check(with_dynamic_size(kernel, *size + 1), draft, target).ok();
  return gate(kernel, evaluate, own_sizes, options);
}

// Nothing of a GPU's binary comes into this process before.
std::optional<Failure> load_proved(Contestant& contestant) {
  if (contestant.candidate.language != "cuda") return std::nullopt;
  auto kept = DeviceKernel::keep(*contestant.binary, contestant.candidate);
  if (!kept) return Failure{"gate", format(kept.errors()), false};
  contestant.runnable.device = *kept;
  contestant.runnable.guards = contestant.candidate.guards;
  return std::nullopt;
}

}  // namespace

std::optional<Failure> prove(
    Contestant& contestant, Life& life, const Target& target, const TuneOptions& options) {
  GateOptions how;
  how.seed = seed_for(life, contestant.attempt.repair, options);
  how.eager = [&](const std::vector<Tensor>& inputs) { return life.runner().eager(inputs); };
  if (contestant.checked) {
    how.required = options.isolation.value_or(*find_isolation(environment().isolation));
    how.constants = contestant.checked->constants;
    how.arms = contestant.checked->arms;
    how.watched_binary = &contestant.watched_binary;
  }
  auto& attempt = contestant.attempt;
  attempt.stage = "gate";
  auto& verdict = contestant.verdict;
  verdict = contestant.runnable.graph ? gate_text(contestant, life, target, how)
                                      : gate(life.judged, contestant.candidate, *contestant.binary, how);
  attempt.gate_seconds = verdict.seconds;
  attempt.families = verdict.families;
  attempt.isolation = verdict.isolation;
  attempt.arms = verdict.arms;
  attempt.admitted = verdict.admitted;
  if (verdict.admitted) return load_proved(contestant);
  bool unable = std::any_of(verdict.failures.begin(), verdict.failures.end(), is_unable);
  life.gate_is_unable = life.gate_is_unable || unable;
  return Failure{"gate", evidence_of(verdict), !unable, false, verdict.places};
}

}  // namespace autoperfect

#include "tune/life.h"

#include "gate/families.h"
#include "ir/kernel_text.h"
#include "support/options.h"
#include "tune/evidence.h"

namespace autoperfect {
namespace {

// A text of MLX's operations may hold for other sizes than these.
std::optional<Runnable> runnable_of(const CacheEntry& entry, const Kernel& kernel, const Target& target) {
  const auto sizes = sizes_of_axes(kernel);
  if (entry.candidate.language == "mlx") {
    if (sizes_admitted(entry.candidate.guards, sizes) != sizes) return std::nullopt;
    auto checked = check(kernel, {"mlx", entry.candidate.source}, target);
    if (!checked || !checked->graph) return std::nullopt;
    return Runnable{nullptr, std::make_shared<const Graph>(std::move(*checked->graph)), {}, {}};
  }
  if (entry.candidate.language == "cuda") {
    auto kept = DeviceKernel::keep(entry.binary, entry.candidate);
    if (!kept) return std::nullopt;
    return Runnable{nullptr, nullptr, entry.candidate.guards, *kept};
  }
  auto loaded = load_cpu(entry.binary, entry.candidate.launch);
  if (!loaded) return std::nullopt;
  return Runnable{*loaded, nullptr, entry.candidate.guards, {}};
}

}  // namespace

bool take_cached(Life& life, const Target& target) {
  auto entry = Cache::instance().find(life.key);
  if (!entry) return false;
  Decision& decision = life.decision;
  if (!entry->use_mlx) {
    auto runnable = runnable_of(*entry, life.kernel(), target);
    if (!runnable) return false;
    decision.runnable = std::move(*runnable);
  }
  decision.use_mlx = entry->use_mlx;
  decision.from_cache = true;
  decision.winner = entry->candidate;
  decision.evidence = entry->evidence;
  read_evidence(decision);
  return life.settled = true;
}

std::optional<Contestant> earlier_winner(const Life& life) {
  auto entry = Cache::instance().find(life.key);
  if (!entry || entry->use_mlx || entry->candidate.provenance.starts_with("schedule")) return std::nullopt;
  Contestant contestant;
  contestant.candidate = entry->candidate;
  contestant.attempt.name = entry->candidate.provenance;
  contestant.attempt.language = entry->candidate.language;
  if (entry->candidate.language == "mlx") contestant.draft = Draft{"mlx", entry->candidate.source};
  return contestant;
}

void store(const Life& life, const Contestant* winner) {
  CacheEntry entry;
  entry.key = life.key;
  entry.kernel = print(life.kernel());
  entry.use_mlx = !winner;
  entry.evidence = life.decision.evidence;
  if (winner) {
    entry.candidate = winner->candidate;
    if (winner->binary) entry.binary = *winner->binary;
    entry.log = winner->log;
  }
  Cache::instance().store(entry);
}

void reject(Life& life, Contestant contestant, const std::string& reason, bool keep) {
  auto& candidate = contestant.candidate;
  if (contestant.draft) candidate.source = contestant.draft->source;  // what its author can read
  contestant.attempt.reason = reason;
  life.decision.rejected.push_back(contestant.attempt.name + ": " + reason);
  if (keep) Cache::instance().store_rejected(life.key, candidate, reason);
  log_info("rejected " + contestant.attempt.name + ": " + reason);
  life.decision.attempts.push_back(std::move(contestant.attempt));
}

}  // namespace autoperfect

#include "tune/life.h"

#include "ir/kernel_text.h"
#include "support/options.h"
#include "tune/evidence.h"

namespace autoperfect {
namespace {

// Empty, or why the candidate is out; loads it when it is not.
std::string why_out(Contestant& contestant) {
  if (!contestant.binary)
    return "does not compile: " + format(contestant.binary.errors(), contestant.candidate.source);
  const Verdict& verdict = contestant.verdict;
  if (!verdict.admitted) return verdict.failures.empty() ? "gate" : format(verdict.failures);
  auto loaded = load_cpu(*contestant.binary, contestant.candidate.launch);
  if (!loaded) return format(loaded.errors());
  contestant.loaded = *loaded;
  return "";
}

}  // namespace

bool take_cached(Life& life) {
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
  read_evidence(decision);
  return life.settled = true;
}

void store(const Life& life, const Contestant* winner) {
  CacheEntry entry;
  entry.key = life.key;
  entry.kernel = print(life.task->kernel);
  entry.use_mlx = !winner;
  entry.evidence = life.decision.evidence;
  if (winner) {
    entry.candidate = winner->candidate;
    entry.binary = *winner->binary;
  }
  Cache::instance().store(entry);
}

void reject(Life& life, const Candidate& candidate, const std::string& reason, bool keep) {
  life.decision.rejected.push_back(candidate.provenance + ": " + reason);
  if (keep) Cache::instance().store_rejected(life.key, candidate, reason);
  log_info("rejected " + candidate.provenance + ": " + reason);
}

void keep_admitted(Life& life, bool keep_rejected) {
  std::vector<Contestant> admitted;
  for (auto& contestant : life.contestants) {
    std::string reason = why_out(contestant);
    if (reason.empty())
      admitted.push_back(std::move(contestant));
    else
      reject(life, contestant.candidate, reason, keep_rejected);
  }
  life.contestants = std::move(admitted);
}

}  // namespace autoperfect

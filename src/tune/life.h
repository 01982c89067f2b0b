// One region on its way through the stages, and the candidates that compete for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check/check.h"
#include "tune/tune.h"

namespace autoperfect {

// A candidate and what the stages made of it.
struct Contestant {
  Candidate candidate;
  Attempt attempt = {};
  Result<std::string> binary = Diagnostic{"compile", "not-run", "was not compiled"};
  std::string log = {};                 // of its compiler
  std::optional<Draft> draft = {};      // none: of the built-in generator
  std::optional<Checked> checked = {};  // of the draft
  std::string watched_binary = {};      // the checker's counted build
  Runnable runnable = {};
  Verdict verdict = {};
  bool built_in = false;
};

struct Life {
  const TuneTask* task = nullptr;
  Kernel judged;  // without the program's names where drafts come from outside: they see its messages
  std::string key;
  Decision decision;
  bool settled = false;
  bool gate_is_unable = false;  // this machine lacks what proving needs
  std::vector<Contestant> admitted;
  std::map<int, uint64_t> seeds = {};  // of the gate's inputs, by the number of repairs
  const Life* same_as = nullptr;       // an earlier region with the same key

  const Kernel& kernel() const { return task->kernel; }
  Runner& runner() const { return *task->runner; }
};

// What the cache knows of the region; false: nothing that can be used here.
bool take_cached(Life& life, const Target& target);

// The decision as it stands, in the cache; `winner` is null where MLX stays.
void store(const Life& life, const Contestant* winner);

// The winner of an earlier run when it was not built in: it may be lost to nothing slower.
std::optional<Contestant> earlier_winner(const Life& life);

// Notes why a candidate is out; `keep`: also in the cache, for failure analysis.
void reject(Life& life, Contestant contestant, const std::string& reason, bool keep);

}  // namespace autoperfect

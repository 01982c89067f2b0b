// One region on its way through the stages, and the candidates that compete for it.
#pragma once

#include <string>
#include <vector>

#include "tune/tune.h"

namespace autoperfect {

// A candidate and what the stages made of it.
struct Contestant {
  Candidate candidate;
  Result<std::string> binary = Diagnostic{"compile", "not-run", "was not compiled"};
  std::shared_ptr<LoadedKernel> loaded = {};
  Verdict verdict = {};
};

struct Life {
  const TuneTask* task = nullptr;
  std::string key;
  Decision decision;
  bool settled = false;
  std::vector<Contestant> contestants;
  const Life* same_as = nullptr;  // an earlier region with the same key
};

// What the cache knows of the region; false: nothing that can be used here.
bool take_cached(Life& life);

// The decision as it stands, in the cache; `winner` is null where MLX stays.
void store(const Life& life, const Contestant* winner);

// Notes why a candidate is out; `keep`: also in the cache, for failure analysis.
void reject(Life& life, const Candidate& candidate, const std::string& reason, bool keep);

// Compiled, loaded and through the gate; the others are rejected and dropped.
void keep_admitted(Life& life, bool keep_rejected);

}  // namespace autoperfect

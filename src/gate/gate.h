// The gate: a compiled candidate is admitted only when it gives the contract's numbers on every input family.
// It runs in a helper process over poisoned, guarded memory; this process recomputes and judges. Strict,
// before any timing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "generate/candidate.h"
#include "reference/tensor.h"
#include "support/isolation.h"

namespace autoperfect {

// What MLX eager gives for the kernel's inputs: the third leg. Empty function: judged without it (no MLX at
// hand).
using EagerRunner = std::function<Result<std::vector<Tensor>>(const std::vector<Tensor>& inputs)>;

// Layers of the proof that a test switches off, to see what the others catch.
struct GateLayers {
  bool seccomp = true;
  bool landlock = true;
  bool guarded_state = true;   // the object's writable memory is made read-only
  size_t families = SIZE_MAX;  // so many input families, in order of importance
};

struct GateOptions {
  uint64_t seed = 0;               // 0: drawn now, after the candidate was loaded
  double seconds = 30;             // deadline of the helper process
  int64_t max_elements = 1 << 16;  // of one input family: dynamic axes are cut down to meet it
  EagerRunner eager;
  std::string worker;                    // the helper program; empty: worker_path()
  Isolation required = Isolation::none;  // nothing is run where less is to be had
  std::vector<double> constants;         // what the source compares data with: inputs lie around them
  // The same candidate compiled with Build::counted (or Build::sanitized), run as well: no access outside its
  // buffers, no undefined behaviour, every arm reached. Null: not run (built-in schedules).
  const std::string* watched_binary = nullptr;
  std::vector<Arm> arms;  // that the counters of the counted build stand for
  GateLayers layers;
};

struct FamilyResult {
  std::string family;  // "normal", "shifted", "large", "nan", "denormal"...
  bool passed = false;
  double worst_ulp = 0, eager_ulp = 0;  // against the oracle, in units of the output dtype
  double worst_abs = 0;
  std::string failure;  // first differing element: output, index, expected, got; its statement
  std::string places;   // of that element, where it is of a program (Origin::places)
};

struct Verdict {
  bool admitted = false;
  std::vector<FamilyResult> families;
  std::vector<Diagnostic> failures;
  std::string places;  // of the first failure, for people
  double seconds = 0;
  Isolation level = Isolation::none;
  std::string isolation;              // what the helper process had: "process, rlimits, guard pages, seccomp"
  size_t arms = 0;                    // all reached, when admitted
  std::vector<std::string> searched;  // families made to reach arms that the usual ones had not
  double watched_seconds = 0;         // of `seconds`: the watched build and the search
};

Verdict gate(
    const Kernel& kernel, const Candidate& candidate, const std::string& binary, const GateOptions& options);

// A candidate in language `mlx`: `evaluate` gives its outputs in ABI order, in this process (the text was
// parsed, and consists of MLX's operations). Where the text holds for the kernel's own sizes only,
// `own_sizes` is true.
Verdict gate(const Kernel& kernel, const EagerRunner& evaluate, bool own_sizes, const GateOptions& options);

}  // namespace autoperfect

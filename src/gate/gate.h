// The gate: a compiled candidate is admitted only when it gives the contract's numbers on every input family.
// It runs in a helper process over poisoned, guarded memory; this process recomputes and judges. Strict,
// before any timing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "generate/candidate.h"
#include "reference/tensor.h"

namespace autoperfect {

// What MLX eager gives for the kernel's inputs: the third leg. Empty function: judged without it (no MLX at
// hand).
using EagerRunner = std::function<Result<std::vector<Tensor>>(const std::vector<Tensor>& inputs)>;

struct GateOptions {
  uint64_t seed = 0;               // 0: drawn now, after the candidate was loaded
  double seconds = 30;             // deadline of the helper process
  int64_t max_elements = 1 << 16;  // of one input family: dynamic axes are cut down to meet it
  EagerRunner eager;
  std::string worker;  // the helper program; empty: worker_path()
};

// The helper program beside this library (never from PATH or the current directory). Empty: not installed.
std::string worker_path();

struct FamilyResult {
  std::string family;  // "normal", "shifted", "large", "nan", "denormal"...
  bool passed = false;
  double worst_ulp = 0, eager_ulp = 0;  // against the oracle, in units of the output dtype
  double worst_abs = 0;
  std::string failure;  // first differing element: output, index, expected, got
};

struct Verdict {
  bool admitted = false;
  std::vector<FamilyResult> families;
  std::vector<Diagnostic> failures;
  double seconds = 0;
  std::string isolation;  // what the helper process had: "process, rlimits, guard pages, seccomp"
};

Verdict gate(
    const Kernel& kernel, const Candidate& candidate, const std::string& binary, const GateOptions& options);

}  // namespace autoperfect

// The life of one region: cache look-up, generate, compile, gate, bench, select, store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "cache/cache.h"
#include "compile/cpu/compile.h"
#include "cost/cost.h"
#include "gate/gate.h"

namespace autoperfect {

// What tuning needs of MLX, given by the pipeline; never called from two threads at once.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual Result<std::vector<Tensor>> eager(const std::vector<Tensor>& inputs) = 0;
  virtual std::vector<Contender> baselines() = 0;  // eager, mx.compile; on inputs of the region's own sizes
  virtual Contender contender(std::shared_ptr<LoadedKernel> loaded, const std::string& name) = 0;
  // After timing: the kernel's outputs at full size against MLX eager's. Empty: they agree.
  virtual std::string recheck(std::shared_ptr<LoadedKernel> loaded) = 0;
};

struct Decision {
  bool use_mlx = true;
  bool from_cache = false;
  std::string reason;
  Candidate winner;
  std::shared_ptr<LoadedKernel> loaded;
  std::vector<Timing> timings;
  std::string evidence;               // JSON, as stored
  std::vector<std::string> rejected;  // "provenance: reason"
};

struct TuneOptions {
  double margin = 0.03;  // a winner beats the best baseline by at least this share
  BenchOptions bench;
  // Tests: of the schedules only this one (modulo their number) is compiled; it is used once the gate admits
  // it, without timing, and the cache is neither read nor written.
  std::optional<size_t> untimed_schedule = {};
};

struct TuneTask {
  Kernel kernel;
  Runner* runner = nullptr;
};

// Compiles all candidates of all tasks in parallel, then gates and times region by region. One Decision per
// task.
std::vector<Decision> tune(
    const std::vector<TuneTask>& tasks, const Target& target, const TuneOptions& options);

}  // namespace autoperfect

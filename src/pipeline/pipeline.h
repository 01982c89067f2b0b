// The stages in order, and compile(): the whole way from an MLX function to a function that runs verified
// kernels.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "canonicalize/canonicalize.h"
#include "capture/capture.h"
#include "dispatch/dispatch.h"
#include "fuse/plan_text.h"
#include "gate/gate.h"

namespace autoperfect {

struct CompileOptions {
  FuseOptions fuse;
  bool always_use_kernels = false;  // tests: dispatch an admitted kernel even when it did not win
};

// What became of one region.
struct RegionOutcome {
  Region region;
  Kernel kernel;
  std::string signature;
  bool from_cache = false;
  bool use_mlx = true;  // MLX stays, with the reason
  std::string reason;
  Candidate winner;
  std::vector<Timing> timings;        // of this or the cached run, baselines included
  std::string evidence;               // JSON
  std::vector<std::string> rejected;  // provenance: why
};

struct Steps;  // of a call, see steps.h

// One traced program for fixed input types. Immutable once built; call() may run on several threads.
class Program {
 public:
  static std::shared_ptr<Program> build(
      const ArrayFunction& fn,
      const std::vector<mlx::core::array>& arguments,
      const CompileOptions& options = {},
      const SourceLines* lines = nullptr);

  std::vector<mlx::core::array> call(const std::vector<mlx::core::array>& arguments) const;

  const Captured& captured() const { return captured_; }
  const Graph& graph() const { return canonical_.graph; }
  const Plan& plan() const { return plan_; }
  const std::vector<RegionOutcome>& outcomes() const { return outcomes_; }
  bool plain() const { return plain_; }  // nothing of ours runs

 private:
  explicit Program(mlx::core::Stream stream) : stream_(stream) {}
  void tune_regions(const CompileOptions& options);
  ArrayFunction plain_function(const Region& region, const Kernel& kernel) const;
  void link();

  Captured captured_;
  Canonical canonical_;
  Plan plan_;
  std::vector<RegionOutcome> outcomes_;
  std::vector<std::shared_ptr<const Executable>> executables_;  // per region of the plan; null when MLX stays
  std::shared_ptr<const Steps> steps_;
  mlx::core::Stream stream_;
  bool plain_ = true;
};

// The C++ face: the types of mlx::core::compile.
ArrayFunction compile(ArrayFunction fn, const CompileOptions& options = {});

// Graph, regions, why fused or not, kernels, predicted and measured, cache state: text for people.
std::string explain(const Program& program);

}  // namespace autoperfect

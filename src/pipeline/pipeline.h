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
#include "lower/lower.h"
#include "pipeline/attention.h"
#include "pipeline/stage_times.h"
#include "tune/tune.h"

namespace autoperfect {

// What runs a region. All but `tuned` are for tests.
enum class RegionCode : uint8_t {
  tuned,    // the winner, a kernel or MLX
  raised,   // MLX operations as raise() gives them; nothing is compiled
  untimed,  // a kernel the gate admits, whatever its time; MLX only where there is none
  none,     // MLX: every stage up to `lower`, and no kernel (what planning takes)
};

struct CompileOptions {
  FuseOptions fuse;
  LowerOptions lower;  // the user's choices only
  RegionCode region_code = RegionCode::tuned;
  size_t schedule = 0;                         // of `untimed`: which of the schedules, modulo their number
  TuneOptions tune;                            // a model to ask, drafts to try
  std::optional<bool> library_attention = {};  // whether it is tried; none: where the target has one
  bool time_whole = false;                     // tests: programs are timed as a whole on the CPU, too
  bool strict = false;                         // tests: a bug of ours is thrown, not answered with plain MLX
};

// What became of one region.
struct RegionOutcome {
  Region region;
  Kernel kernel;
  std::string layouts;  // "%x strides=[1,?]": inputs that its code takes as they lie; empty: all are dense
  std::string signature;
  bool from_cache = false;
  bool use_mlx = true;  // MLX stays, with the reason
  std::string reason;
  Candidate winner;
  std::vector<Timing> timings;        // of this or the cached run, baselines included
  std::string evidence;               // JSON
  std::vector<std::string> rejected;  // provenance: why
  std::vector<Attempt> attempts;      // of every author, in order

  void take(Decision decision);  // all of the above that tuning decides
};

// How a program runs: with the kernels that won and MLX between them, or without any.
enum class Way : uint8_t { ours, compiled, eager };

struct WholeDecision {
  Way way = Way::ours;
  bool from_cache = false;
  std::string reason = {};           // empty: nobody asked
  std::vector<Timing> timings = {};  // of a call, each way; see whole.h
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
  const std::vector<AttentionOutcome>& attentions() const { return attentions_; }
  // Per region of the plan; null where MLX's own operations run.
  const std::vector<std::shared_ptr<const Executable>>& executables() const { return executables_; }
  bool plain() const { return plain_; }  // nothing of ours runs
  const WholeDecision& whole() const { return whole_; }
  const Target* target() const { return target_; }
  const StageTimes& times() const { return times_; }
  const Steps& steps() const { return *steps_; }

 private:
  explicit Program(mlx::core::Stream stream);
  void prepare(const CompileOptions& options, const std::vector<mlx::core::array>& arguments);
  bool is_on_one_device(const Region& region) const;
  // Nodes that run as calls of a library. Decides for each attention that the program wrote out.
  std::vector<NodeId> choose_attentions(const CompileOptions& options);
  void lower_regions(const LowerOptions& options);
  void tune_regions(const CompileOptions& options, const std::vector<mlx::core::array>& arguments);
  // For regions that read arguments which are not dense: kernels that take those as they lie, where that
  // pays.
  void tune_strided(const TuneOptions& options, const std::vector<mlx::core::array>& arguments);
  std::optional<ArrayFunction> captured_function(const Region& region) const;
  ArrayFunction plain_function(const Region& region, const Kernel& kernel) const;
  void link();
  ArrayFunction as_captured() const;
  std::vector<mlx::core::array> with_constants(const std::vector<mlx::core::array>& arguments) const;
  void choose_way(const CompileOptions& options, const std::vector<mlx::core::array>& arguments);

  Captured captured_;
  Canonical canonical_;
  std::vector<ValueId> sources_;  // of the canonical values, see find_sources
  Plan plan_;
  std::vector<AttentionOutcome> attentions_;
  std::vector<RegionOutcome> outcomes_;
  std::vector<std::shared_ptr<const Executable>> executables_;
  std::shared_ptr<const Steps> steps_;
  mlx::core::Stream stream_;
  WholeDecision whole_;
  ArrayFunction runs_;    // empty: the steps, as they are
  const Target* target_;  // of the stream's device; null: nothing of ours runs there
  bool plain_ = true;
  StageTimes times_;
};

// The device that kernels are built for where this is the stream's. Null: plain MLX runs there.
const Target* target_of(const mlx::core::Device& device);

// The C++ face: the types of mlx::core::compile.
ArrayFunction compile(ArrayFunction fn, const CompileOptions& options = {});

// Graph, regions, why fused or not, kernels, predicted and measured, cache state: text for people.
std::string explain(const Program& program);

}  // namespace autoperfect

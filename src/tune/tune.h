// The life of one region: cache look-up, then candidates of every author (built-in schedules, a model,
// people) through check, compile, gate and bench; repairs and improvements while they last; select, store.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "cache/cache.h"
#include "compile/cpu/compile.h"
#include "compile/cuda/device.h"
#include "cost/cost.h"
#include "gate/gate.h"
#include "generate/language/language.h"
#include "generate/model/code_model.h"

namespace autoperfect {

// What runs for an admitted candidate: a loaded binary for the CPU or the GPU, or MLX's operations as its
// text says (`mlx`).
struct Runnable {
  std::shared_ptr<LoadedKernel> loaded;
  std::shared_ptr<const Graph> graph;
  Guards guards = {};
  std::shared_ptr<const DeviceKernel> device = {};
};

struct Recheck {
  std::vector<int64_t> sizes;  // of all axes
  int64_t elements = 0;        // about so many are judged
  uint64_t seed = 1;           // of which
};

// What tuning needs of MLX, given by the pipeline; always called on the thread that called tune().
class Runner {
 public:
  virtual ~Runner() = default;
  virtual const Graph& graph() = 0;  // the region as MLX's operations
  // Outputs of such a graph for inputs of its sizes.
  virtual Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) = 0;
  virtual Result<std::vector<Tensor>> eager(const std::vector<Tensor>& inputs) = 0;
  virtual std::vector<Contender> baselines() = 0;  // eager, mx.compile; on inputs of the region's own sizes
  virtual Contender contender(const Runnable& runnable, const std::string& name) = 0;
  // After timing: the kernel's outputs at full size, all against MLX eager's and some rows as the gate
  // judges. Empty: they are right.
  virtual std::string recheck(const Runnable& runnable, const Recheck& how) = 0;
  virtual DeviceTimes times_on_device(const Runnable&) { return {}; }
};

// One candidate's way through the stages, for explanations.
struct Attempt {
  std::string name;  // the candidate's provenance
  int round = 0;     // 0: what was there before a model was asked
  int variant = 0;
  int repair = 0;  // 0: the first answer
  std::string language = "cpu";
  std::string stage;  // the last it came to: "ask", "extract", "check", "compile", "gate", "bench"
  bool admitted = false;
  bool won = false;
  std::string reason;                  // why it went no further
  std::string isolation;               // of the gate
  std::vector<FamilyResult> families;  // of the gate, in this run only: not kept
  size_t arms = 0;                     // branch arms, all of them reached
  double seconds = 0;                  // of a call: measured, or estimated when nothing is timed
  double built_in_seconds = 0;         // of the best schedule beside it
  double ask_seconds = 0, check_seconds = 0, compile_seconds = 0, gate_seconds = 0;
};

struct Decision {
  bool use_mlx = true;
  bool from_cache = false;
  std::string reason;
  Candidate winner;
  Runnable runnable;
  std::vector<Timing> timings;
  std::string evidence;               // JSON, as stored
  std::vector<std::string> rejected;  // "provenance: reason"
  std::vector<Attempt> attempts;
};

// Candidates that are not built in.
struct AuthorOptions {
  std::shared_ptr<CodeModel> model;              // null: nobody is asked
  std::string model_name;                        // for provenance
  std::vector<Draft> drafts;                     // by people: proposed for every region, and never repaired
  std::string language = "cpu";                  // asked for
  int variants = 4;                              // asked for in each round
  int repairs = 2;                               // of each variant
  int rounds = 1;                                // from the second on, the best so far is to be improved
  int concurrency = 4;                           // questions at once
  double seconds = 0;                            // no question is asked later than this; 0: no limit
  std::shared_ptr<std::atomic<bool>> cancelled;  // set to end the waiting for answers
  bool any() const { return model || !drafts.empty(); }
};

struct TuneOptions {
  double margin = 0.03;  // a winner beats the best baseline by at least this share
  BenchOptions bench;
  AuthorOptions authors;
  bool schedules = true;  // whether the built-in generator takes part
  // false: who wins is decided by the cost model's estimates, nothing is timed and nothing is kept in the
  // cache. With a fixed seed and target, such a run gives the same decisions and evidence each time.
  bool timed = true;
  uint64_t seed = 0;             // of the gate's inputs; 0: drawn when the candidates are loaded
  std::optional<Target> target;  // the one prompts and estimates are for; none: this machine
  // The least that machine code not built in is run under; none: as the environment says.
  std::optional<Isolation> isolation = {};
  bool progress = false;       // one line a region on stderr
  std::function<void()> poll;  // called several times a second while drafts are on their way; throws to stop
  // Tests: of the schedules only this one (modulo their number) is compiled; it is used once the gate admits
  // it, without timing, and the cache is neither read nor written.
  std::optional<size_t> untimed_schedule = {};
};

struct TuneTask {
  Kernel kernel;
  Runner* runner = nullptr;
};

// Compiles all candidates of all tasks in parallel, then gates and times region by region. One Decision per
// task. Winners are stored as they are found.
std::vector<Decision> tune(
    const std::vector<TuneTask>& tasks, const Target& target, const TuneOptions& options);

}  // namespace autoperfect

#include "gate/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <random>

#include "compile/cpu/compile.h"
#include "gate/inspect.h"
#include "gate/judge.h"
#include "gate/plan.h"
#include "gate/worker_process.h"
#include "ir/kernel_text.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

// The inputs of one kernel and what they must give.
struct Examination {
  std::vector<InputFamily> families;
  std::vector<References> references;
};

// Iterations of the largest value that the references are computed for, some nanoseconds each.
constexpr int64_t most_work = int64_t{1} << 31;

bool has_dynamic_axis(const Kernel& kernel) {
  return std::any_of(kernel.axes.begin(), kernel.axes.end(), [](const Axis& axis) { return axis.dynamic; });
}

Diagnostic failure(const std::string& code, const std::string& message) {
  return {"gate", code, message};
}

Status compute_references(Examination& examination) {
  auto& families = examination.families;
  examination.references.resize(families.size());
  std::vector<std::optional<Diagnostic>> errors(families.size());
  parallel_for(static_cast<int64_t>(families.size()), 0, [&](int64_t f, int) {
    auto& family = families[static_cast<size_t>(f)];
    auto& references = examination.references[static_cast<size_t>(f)];
    auto oracle = run_reference(family.kernel, family.inputs, Precision::oracle);
    auto exact = run_reference(family.kernel, family.inputs, Precision::exact);
    if (!oracle || !exact) {
      errors[static_cast<size_t>(f)] = (oracle ? exact : oracle).errors().at(0);
      return;
    }
    references.oracle = std::move(*oracle);
    references.exact = std::move(*exact);
  });
  for (auto& error : errors) {
    if (error) return *error;
  }
  return Success{};
}

// MLX is called on this thread alone. What it cannot do at these sizes is judged without it.
void run_eager(Examination& examination, const EagerRunner& eager) {
  if (!eager) return;
  for (size_t f = 0; f < examination.families.size(); ++f) {
    auto outputs = eager(examination.families[f].inputs);
    auto& references = examination.references[f];
    if (!outputs || outputs->size() != references.exact.size()) continue;
    bool fits = true;
    for (size_t i = 0; i < outputs->size(); ++i)
      fits = fits && (*outputs)[i].type == references.exact[i].type;
    if (fits) references.eager = std::move(*outputs);
  }
}

// The last one is kept: candidates for the same kernel, given the same seed, sit the same examination.
Result<std::shared_ptr<const Examination>> examination_for(
    const Kernel& kernel, uint64_t seed, const GateOptions& options) {
  static std::mutex mutex;
  static std::string last_key;
  static std::shared_ptr<const Examination> last;
  std::string key =
      fmt::format("{} {} {}\n{}", seed, options.max_elements, bool(options.eager), print(kernel));
  {
    std::lock_guard lock(mutex);
    if (options.seed && last && last_key == key) return last;
  }
  auto examination = std::make_shared<Examination>();
  examination->families = make_families(kernel, seed, options.max_elements);
  if (auto computed = compute_references(*examination); !computed) return computed.errors();
  run_eager(*examination, options.eager);
  std::lock_guard lock(mutex);
  last_key = key;
  last = examination;
  return last;
}

void copy_inputs(const std::vector<InputFamily>& families, const Job& job, MemoryFile& file) {
  std::memset(file.data(), 0xff, static_cast<size_t>(file.bytes()));
  for (size_t f = 0; f < families.size(); ++f) {
    for (auto& arenas : job.families[f].inputs) {
      for (size_t i = 0; i < arenas.size(); ++i) {
        auto& bytes = families[f].inputs[i].bytes;
        if (!bytes.empty())
          std::memcpy(file.data() + arenas[i].offset + arenas[i].data, bytes.data(), bytes.size());
      }
    }
  }
}

void poison_outputs(const Job& job, MemoryFile& file) {
  for (auto& run : job.runs) {
    for (auto& arena : run.outputs) {
      std::memset(file.data() + arena.offset, static_cast<int>(run.poison), static_cast<size_t>(arena.size));
    }
  }
}

std::vector<std::string> names_of(const Kernel& kernel, BufferRole role) {
  std::vector<std::string> names;
  for (auto& buffer : kernel.buffers) {
    if (buffer.role == role) names.push_back(buffer.name);
  }
  return names;
}

// A family's verdict on the memory and the numbers of all its runs.
FamilyResult examine(
    const InputFamily& family,
    size_t index,
    const References& references,
    const Job& job,
    MemoryFile& outputs) {
  FamilyResult result;
  result.family = family.name;
  result.failure = inspect_memory(family, index, job, outputs);
  if (!result.failure.empty()) return result;
  auto run = [&](int pass) -> const JobRun& { return job.runs[run_index(job.families.size(), pass, index)]; };
  result = judge(family, references, outputs_of(family, run(0), outputs));
  if (!result.passed || job.launch.partial_bytes == 0) return result;  // else the passes are equal
  FamilyResult other_cut = judge(family, references, outputs_of(family, run(1), outputs));
  return other_cut.passed ? result : other_cut;
}

class Gate {
 public:
  Gate(
      const Kernel& kernel, const Candidate& candidate, const std::string& binary, const GateOptions& options)
      : kernel_(kernel), candidate_(candidate), binary_(binary), options_(options) {}

  Verdict run() {
    auto start = std::chrono::steady_clock::now();
    auto status = examine_all();
    if (!status) verdict_.failures = status.errors();
    verdict_.admitted = verdict_.failures.empty() && !verdict_.families.empty();
    verdict_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(verdict_);
  }

 private:
  Status examine_all() {
    std::string worker = options_.worker.empty() ? worker_path() : options_.worker;
    if (worker.empty()) return failure("no-worker", "the helper program autoperfect-worker is not installed");
    for (AxisId axis : candidate_.launch.parallel) {
      if (axis < 0 || axis >= static_cast<AxisId>(kernel_.axes.size())) {
        return failure("bad-launch", "the launch names an axis the kernel does not have");
      }
    }
    for (const auto& axis : kernel_.axes) {
      if (axis.size == 0 && !axis.dynamic)
        return failure("empty-axis", "axis " + axis.name + " is empty: MLX runs what computes nothing");
    }
    if (work_of(kernel_) > most_work && !has_dynamic_axis(kernel_))
      return failure("too-large", "the reference executor would take minutes over a kernel of this size");
    uint64_t seed = options_.seed ? options_.seed : std::random_device()() | 1ull << 32;
    auto examination = examination_for(kernel_, seed, options_);
    if (!examination) return examination.errors();
    const auto& families = (*examination)->families;

    Job job = plan_job(families, candidate_.launch, binary_);
    MemoryFile inputs(job.input_file_bytes), outputs(job.output_file_bytes);
    if (!inputs.data() || !outputs.data())
      return failure("no-memory", "no memory files for the helper process");
    copy_inputs(families, job, inputs);
    poison_outputs(job, outputs);
    if (!inputs.seal_contents()) return failure("no-memory", "the inputs cannot be sealed");
    auto outcome = run_worker_process(
        worker,
        job,
        inputs,
        outputs,
        options_.seconds,
        names_of(kernel_, BufferRole::in),
        names_of(kernel_, BufferRole::out));
    if (!outcome) return outcome.errors();
    verdict_.isolation = outcome->isolation;
    if (!outcome->finished) return report_end(*outcome, job, families);
    std::vector<FamilyResult> results(families.size());
    parallel_for(static_cast<int64_t>(families.size()), 0, [&](int64_t i, int) {
      auto f = static_cast<size_t>(i);
      results[f] = examine(families[f], f, (*examination)->references[f], job, outputs);
    });
    for (auto& result : results)
      report(std::move(result));
    return Success{};
  }

  // The helper did not get to the end: the family it was at is the one that failed.
  Status report_end(const WorkerOutcome& outcome, const Job& job, const std::vector<InputFamily>& families) {
    std::string place;
    if (outcome.run >= 0) {
      FamilyResult result;
      result.family = families[static_cast<size_t>(job.runs[static_cast<size_t>(outcome.run)].family)].name;
      result.failure = outcome.failure;
      place = fmt::format(" (inputs: {})", result.family);
      verdict_.families.push_back(result);
    }
    return failure(outcome.code, "the kernel " + outcome.failure + place);
  }

  void report(FamilyResult result) {
    if (!result.passed) {
      bool is_memory = result.failure.find(": expected") == std::string::npos;
      verdict_.failures.push_back(failure(
          is_memory ? "bad-write" : "wrong-result",
          fmt::format("{}{} (inputs: {})", is_memory ? "the kernel " : "", result.failure, result.family)));
    }
    verdict_.families.push_back(std::move(result));
  }

  const Kernel& kernel_;
  const Candidate& candidate_;
  const std::string& binary_;
  const GateOptions& options_;
  Verdict verdict_;
};

}  // namespace

Verdict gate(
    const Kernel& kernel, const Candidate& candidate, const std::string& binary, const GateOptions& options) {
  return Gate(kernel, candidate, binary, options).run();
}

}  // namespace autoperfect

#include "gate/sitting.h"

#include <unistd.h>

#include <cstring>

#include "compile/cpu/compile.h"
#include "gate/gpu_worker.h"
#include "gate/inspect.h"

namespace autoperfect {
namespace {

Diagnostic failure(const std::string& code, const std::string& message) {
  return {"gate", code, message};
}

void copy_inputs(const std::vector<InputFamily>& families, const Job& job, MemoryFile& file) {
  std::memset(file.data(), 0xff, static_cast<size_t>(file.bytes()));
  for (size_t f = 0; f < families.size(); ++f) {
    for (auto& arenas : job.families[f].inputs) {
      for (size_t i = 0; i < arenas.size(); ++i) {
        auto& bytes = families[f].memory[i];
        if (!bytes.empty())
          std::memcpy(file.data() + arenas[i].offset + arenas[i].data, bytes.data(), bytes.size());
      }
    }
  }
}

void fill_outputs(const std::vector<InputFamily>& families, const Job& job, MemoryFile& file) {
  for (auto& run : job.runs) {
    for (size_t k = 0; k < run.outputs.size(); ++k) {
      auto& arena = run.outputs[k];
      unsigned char* pages = file.data() + arena.offset;
      std::memset(pages, static_cast<int>(run.poison), static_cast<size_t>(arena.size));
      if (run.aliases[k] < 0) continue;
      auto& input = families[static_cast<size_t>(run.family)].memory[static_cast<size_t>(run.aliases[k])];
      std::memcpy(pages + arena.data, input.data(), input.size());
    }
  }
}

std::vector<std::string> names_of(const Kernel& kernel, bool inputs) {
  std::vector<std::string> names;
  for (auto& buffer : kernel.buffers) {
    if ((buffer.role == BufferRole::in) == inputs) names.push_back(buffer.name);
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
  if (!result.passed || job.passes_agree()) return result;  // else the passes are equal
  FamilyResult other_cut = judge(family, references, outputs_of(family, run(1), outputs));
  return other_cut.passed ? result : other_cut;
}

}  // namespace

bool Sitting::reached(size_t family, size_t arm) const {
  const auto families = job.families.size();
  for (int pass = 0; pass < static_cast<int>(job.runs.size() / families); ++pass) {
    const Arena& arena = job.runs[run_index(families, pass, family)].reached;
    if (outputs->data()[arena.offset + arena.data + static_cast<int64_t>(arm)] != 0) return true;
  }
  return false;
}

Result<Sitting> sit(
    const Kernel& kernel,
    const Launch& launch,
    const std::string& binary,
    const std::vector<InputFamily>& families,
    const BuildForm& form,
    const GateOptions& options) {
  const std::string worker = options.worker.empty() ? worker_path() : options.worker;
  if (worker.empty()) return failure("no-worker", "the helper program autoperfect-worker is not installed");
  Sitting sitting;
  sitting.job = plan_job(families, launch, binary, form);
  sitting.job.isolation = {
      getpid(),
      static_cast<int64_t>(options.required),
      options.layers.seccomp,
      options.layers.landlock,
      options.layers.guarded_state};
  MemoryFile inputs(sitting.job.input_file_bytes);
  sitting.outputs = std::make_unique<MemoryFile>(sitting.job.output_file_bytes);
  if (!inputs.data() || !sitting.outputs->data())
    return failure("no-memory", "no memory files for the helper process");
  copy_inputs(families, sitting.job, inputs);
  fill_outputs(families, sitting.job, *sitting.outputs);
  if (!inputs.seal_contents()) return failure("no-memory", "the inputs cannot be sealed");
  const WorkerTask task{
      worker,
      sitting.job,
      inputs,
      *sitting.outputs,
      options.seconds,
      {names_of(kernel, true), names_of(kernel, false)}};
  auto outcome = form.on_gpu ? run_gpu_worker(task) : run_worker_process(task);
  if (!outcome) return outcome.errors();
  sitting.outcome = std::move(*outcome);
  return sitting;
}

std::vector<FamilyResult> judge_sitting(const Sitting& sitting, const Examination& examination) {
  std::vector<FamilyResult> results(examination.families.size());
  parallel_for(static_cast<int64_t>(results.size()), 0, [&](int64_t i, int) {
    auto f = static_cast<size_t>(i);
    results[f] =
        examine(examination.families[f], f, examination.references[f], sitting.job, *sitting.outputs);
  });
  return results;
}

}  // namespace autoperfect

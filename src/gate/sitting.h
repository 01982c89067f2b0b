// One run of the helper process: a build of the candidate on some families.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gate/examination.h"
#include "gate/job.h"
#include "gate/memory_file.h"
#include "gate/plan.h"
#include "gate/worker_process.h"

namespace autoperfect {

struct Sitting {
  Job job;
  std::unique_ptr<MemoryFile> outputs;
  WorkerOutcome outcome;

  // Whether a run of a family stored something at the place of an arm.
  bool reached(size_t family, size_t arm) const;
};

Result<Sitting> sit(
    const Kernel& kernel,
    const Launch& launch,
    const std::string& binary,
    const std::vector<InputFamily>& families,
    const BuildForm& form,
    const GateOptions& options);

// What a finished sitting gave, family by family.
std::vector<FamilyResult> judge_sitting(const Sitting& sitting, const Examination& examination);

}  // namespace autoperfect

// The memory a candidate left behind, before any number is looked at.
#pragma once

#include <string>

#include "gate/families.h"
#include "gate/job.h"
#include "gate/memory_file.h"

namespace autoperfect {

// Empty: every byte around the outputs of this family is untouched, every element was written, and all runs
// that must agree do so bit for bit (with partial results a different cut may give different rounding). Else
// what is wrong.
std::string inspect_memory(const InputFamily& family, size_t index, const Job& job, MemoryFile& outputs);

// The outputs of one run.
std::vector<Tensor> outputs_of(const InputFamily& family, const JobRun& run, MemoryFile& outputs);

}  // namespace autoperfect

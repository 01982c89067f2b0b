// Runs a job in the helper process and explains how it ended.
#pragma once

#include <string>

#include "gate/job.h"
#include "gate/memory_file.h"
#include "support/isolation.h"
#include "support/result.h"

namespace autoperfect {

struct WorkerOutcome {
  bool finished = false;  // it claims to have made every run; the numbers are still to be judged
  std::string failure;    // else: why, in terms of the candidate ("writes its input %x")
  std::string code;       // and as the code of a diagnostic
  int64_t run = -1;       // in which run
  int64_t line = 0;       // of the source, where it is known
  Isolation level = Isolation::none;
  std::string isolation;
};

// What a memory fault means in the candidate's terms: "writes 4 bytes past the end of %y".
std::string explain_fault(
    const WorkerReport& report,
    const std::vector<std::string>& input_names,
    const std::vector<std::string>& output_names);

// One line of printable text: words of the helper may be the candidate's.
std::string tame(const std::string& text);

// The names are those of the kernel's buffers, for messages.
Result<WorkerOutcome> run_worker_process(
    const std::string& worker,
    const Job& job,
    const MemoryFile& inputs,
    MemoryFile& outputs,
    double seconds,
    const std::vector<std::string>& input_names,
    const std::vector<std::string>& output_names);

}  // namespace autoperfect

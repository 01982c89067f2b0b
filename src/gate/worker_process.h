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

// Of the kernel's buffers, for messages.
struct BufferNames {
  std::vector<std::string> inputs, outputs;
};

// What the helper is asked for.
struct WorkerTask {
  std::string worker;  // its program
  const Job& job;
  const MemoryFile& inputs;
  MemoryFile& outputs;
  double seconds = 0;
  BufferNames names;
};

// What a memory fault means in the candidate's terms: "writes 4 bytes past the end of %y".
std::string explain_fault(const WorkerReport& report, const BufferNames& names);

// The first page of the outputs, and the words in it.
WorkerReport report_in(MemoryFile& outputs);
std::string behaviour_of(const WorkerReport& report);

// One line of printable text: words of the helper may be the candidate's.
std::string tame(const std::string& text);

Result<WorkerOutcome> run_worker_process(const WorkerTask& task);

}  // namespace autoperfect

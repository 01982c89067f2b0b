#include "gate/worker_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "support/subprocess.h"

namespace autoperfect {
namespace {

constexpr int64_t spare_memory = int64_t{1} << 30;  // beside the buffers: the program itself, stacks

std::string name_in(const std::vector<std::string>& names, int64_t index) {
  return index >= 0 && index < static_cast<int64_t>(names.size()) ? "%" + names[static_cast<size_t>(index)]
                                                                  : "a buffer";
}

void explain_signal(
    const ProcessResult& run, const WorkerReport& report, const BufferNames& names, WorkerOutcome& outcome) {
  switch (run.signal) {
    case SIGSEGV:
    case SIGBUS:
      outcome.code = "memory-fault";
      outcome.failure = explain_fault(report, names);
      return;
    case SIGSYS:
      outcome.code = "system-call";
      outcome.failure = "makes a system call";
      return;
    default:
      outcome.code = "crash";
      outcome.failure = fmt::format("ends by signal {} ({})", run.signal, strsignal(run.signal));
  }
}

void explain_end(
    const ProcessResult& run, const WorkerReport& report, const WorkerTask& task, WorkerOutcome& outcome) {
  auto runs = static_cast<int64_t>(task.job.runs.size());
  outcome.isolation = tame(run.output);
  outcome.level =
      static_cast<Isolation>(std::clamp<int64_t>(report.level, 0, static_cast<int64_t>(Isolation::landlock)));
  outcome.run = std::clamp<int64_t>(report.runs_begun - 1, -1, runs - 1);
  if (run.timed_out) {
    outcome.code = "timeout";
    outcome.failure = fmt::format("does not finish within {:g} s", task.seconds);
  } else if (run.signal) {
    explain_signal(run, report, task.names, outcome);
  } else if (run.exit_code == 3) {
    outcome.code = "not-run";
    outcome.failure = "cannot be run: " + tame(run.errors);
  } else if (report.watched == 2) {
    outcome.code = "undefined-behaviour";
    outcome.line = report.line;
    outcome.failure = "does what C++ leaves undefined: " + behaviour_of(report);
  } else if (report.watched == 3) {
    outcome.code = "processor-state";
    outcome.failure = "changes how the processor rounds";
  } else if (report.watched) {
    outcome.code = "memory-fault";
    outcome.failure = explain_fault(report, task.names);
  } else if (report.runs_done != runs) {
    outcome.code = "early-exit";
    outcome.failure = "ends the process before its work is done";
  } else {
    outcome.finished = true;
  }
}

}  // namespace

WorkerReport report_in(MemoryFile& outputs) {
  WorkerReport report;
  std::memcpy(&report, outputs.data(), sizeof report);
  return report;
}

std::string behaviour_of(const WorkerReport& report) {
  return tame(std::string(report.behaviour, strnlen(report.behaviour, sizeof report.behaviour)));
}

std::string tame(const std::string& text) {
  std::string line;
  for (char c : text.substr(0, 300)) {
    if (c == '\n') break;
    line += c >= ' ' && c < 127 ? c : '?';
  }
  return line;
}

std::string explain_fault(const WorkerReport& report, const BufferNames& names) {
  std::string where;
  const char* verb = report.fault_writes ? "writes" : "reads";
  switch (report.fault_region) {
    case WorkerReport::input:
      where = name_in(names.inputs, report.fault_buffer);
      break;
    case WorkerReport::output:
      where = name_in(names.outputs, report.fault_buffer);
      break;
    case WorkerReport::scratch:
      where = "scratch";
      break;
    case WorkerReport::partials:
      where = "the partial results";
      break;
    case WorkerReport::reached:
      where = "the counters of its arms";
      break;
    case WorkerReport::argument:
      where = "its arguments";
      break;
    case WorkerReport::stack:
      return report.watched ? fmt::format("{} outside its local variables", verb)
                            : "uses more stack than a thread may have";
    case WorkerReport::table:
      return fmt::format("{} outside its tables", verb);
    case WorkerReport::state:
      return report.fault_writes ? "keeps memory between calls" : "runs what is no code";
    default:
      return "touches memory that is not its own";
  }
  bool inside = report.fault_offset >= 0 && report.fault_offset < report.fault_bytes;
  if (inside && report.fault_region == WorkerReport::input) return "writes its input " + where;
  if (report.fault_offset < 0) return fmt::format("{} {} bytes before {}", verb, -report.fault_offset, where);
  return fmt::format("{} {} bytes past the end of {}", verb, report.fault_offset - report.fault_bytes, where);
}

Result<WorkerOutcome> run_worker_process(const WorkerTask& task) {
  const Job& job = task.job;
  ProcessOptions options;
  options.input = encode(job);
  options.seconds = task.seconds;
  options.memory_bytes = 2 * (job.input_file_bytes + job.output_file_bytes) + spare_memory +
                         job.launch.scratch_bytes + 64 * job.launch.partial_bytes;
  options.output_bytes = 4096;
  options.keep_fds = {task.inputs.fd(), task.outputs.fd()};
  auto run = run_process(
      {task.worker, std::to_string(task.inputs.fd()), std::to_string(task.outputs.fd())}, options);
  if (!run) return run.errors();
  WorkerOutcome outcome;
  explain_end(*run, report_in(task.outputs), task, outcome);
  return outcome;
}

}  // namespace autoperfect

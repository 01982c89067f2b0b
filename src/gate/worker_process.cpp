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

struct Names {
  const std::vector<std::string>& inputs;
  const std::vector<std::string>& outputs;
};

void explain_signal(
    const ProcessResult& run, const WorkerReport& report, const Names& names, WorkerOutcome& outcome) {
  switch (run.signal) {
    case SIGSEGV:
    case SIGBUS:
      outcome.code = "memory-fault";
      outcome.failure = explain_fault(report, names.inputs, names.outputs);
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
    const ProcessResult& run,
    const WorkerReport& report,
    const Job& job,
    double seconds,
    const Names& names,
    WorkerOutcome& outcome) {
  auto runs = static_cast<int64_t>(job.runs.size());
  outcome.isolation = tame(run.output);
  outcome.level =
      static_cast<Isolation>(std::clamp<int64_t>(report.level, 0, static_cast<int64_t>(Isolation::landlock)));
  outcome.run = std::clamp<int64_t>(report.runs_begun - 1, -1, runs - 1);
  if (run.timed_out) {
    outcome.code = "timeout";
    outcome.failure = fmt::format("does not finish within {:g} s", seconds);
  } else if (run.signal) {
    explain_signal(run, report, names, outcome);
  } else if (run.exit_code == 3) {
    outcome.code = "not-run";
    outcome.failure = "cannot be run: " + tame(run.errors);
  } else if (report.watched == 2) {
    outcome.code = "undefined-behaviour";
    outcome.line = report.line;
    outcome.failure = "does what C++ leaves undefined: " +
                      tame(std::string(report.behaviour, strnlen(report.behaviour, sizeof report.behaviour)));
  } else if (report.watched == 3) {
    outcome.code = "processor-state";
    outcome.failure = "changes how the processor rounds";
  } else if (report.watched) {
    outcome.code = "memory-fault";
    outcome.failure = explain_fault(report, names.inputs, names.outputs);
  } else if (report.runs_done != runs) {
    outcome.code = "early-exit";
    outcome.failure = "ends the process before its work is done";
  } else {
    outcome.finished = true;
  }
}

}  // namespace

std::string tame(const std::string& text) {
  std::string line;
  for (char c : text.substr(0, 300)) {
    if (c == '\n') break;
    line += c >= ' ' && c < 127 ? c : '?';
  }
  return line;
}

std::string explain_fault(
    const WorkerReport& report,
    const std::vector<std::string>& input_names,
    const std::vector<std::string>& output_names) {
  std::string where;
  const char* verb = report.fault_writes ? "writes" : "reads";
  switch (report.fault_region) {
    case WorkerReport::input:
      where = name_in(input_names, report.fault_buffer);
      break;
    case WorkerReport::output:
      where = name_in(output_names, report.fault_buffer);
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

Result<WorkerOutcome> run_worker_process(
    const std::string& worker,
    const Job& job,
    const MemoryFile& inputs,
    MemoryFile& outputs,
    double seconds,
    const std::vector<std::string>& input_names,
    const std::vector<std::string>& output_names) {
  ProcessOptions options;
  options.input = encode(job);
  options.seconds = seconds;
  options.memory_bytes = 2 * (job.input_file_bytes + job.output_file_bytes) + spare_memory +
                         job.launch.scratch_bytes + 64 * job.launch.partial_bytes;
  options.output_bytes = 4096;
  options.keep_fds = {inputs.fd(), outputs.fd()};
  auto run = run_process({worker, std::to_string(inputs.fd()), std::to_string(outputs.fd())}, options);
  if (!run) return run.errors();
  WorkerReport report;
  std::memcpy(&report, outputs.data(), sizeof report);
  WorkerOutcome outcome;
  explain_end(*run, report, job, seconds, {input_names, output_names}, outcome);
  return outcome;
}

}  // namespace autoperfect

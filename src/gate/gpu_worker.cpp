#include "gate/gpu_worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>

#include "gate/gpu_job.h"
#include "support/options.h"
#include "support/pass_descriptors.h"
#include "support/subprocess.h"

namespace autoperfect {
namespace {

std::mutex mutex;

std::optional<ResidentProcess>& process() {
  static auto& kept = *new std::optional<ResidentProcess>;
  return kept;
}

enum class Answer {
  done,
  last,  // done, and the process ends
  gone,
  late
};

Answer wait(int socket, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    double left = std::chrono::duration<double>(deadline - Clock::now()).count();
    if (left <= 0) return Answer::late;
    pollfd file{socket, POLLIN, 0};
    if (poll(&file, 1, static_cast<int>(std::ceil(std::min(left, 60.0) * 1e3))) <= 0) continue;
    char byte = 0;
    if (recv(socket, &byte, 1, 0) != 1) return Answer::gone;
    return byte ? Answer::done : Answer::last;
  }
}

Result<Answer> run(const WorkerTask& task, const MemoryFile& job) {
  // One that died meanwhile, idle, says nothing about this job.
  for (int attempt = 0; attempt < 2; ++attempt) {
    bool is_fresh = !process();
    if (is_fresh) {
      auto started =
          ResidentProcess::start({task.worker, gpu_mode, std::to_string(getpid())}, gpu_environment());
      if (!started) return started.errors();
      process().emplace(std::move(*started));
    }
    bool asked = DescriptorMessage<gpu_job_files>().send(
        process()->socket(), {job.fd(), task.inputs.fd(), task.outputs.fd()});
    Answer answer = asked ? wait(process()->socket(), task.seconds) : Answer::gone;
    if (answer != Answer::done) process().reset();
    if (asked || is_fresh) return answer;
  }
  return Answer::gone;
}

void explain_end(Answer answer, const WorkerReport& report, const WorkerTask& task, WorkerOutcome& outcome) {
  auto runs = static_cast<int64_t>(task.job.runs.size());
  std::string said = behaviour_of(report);
  outcome.level = Isolation::process;
  outcome.isolation = fmt::format("process, guard {} on the GPU", report.guard_pages ? "pages" : "zones");
  outcome.run = std::clamp<int64_t>(report.runs_begun - 1, -1, runs - 1);
  if (answer == Answer::late) {
    outcome.code = "timeout";
    outcome.failure = fmt::format("does not finish within {:g} s", task.seconds);
  } else if (report.fault_region != WorkerReport::nowhere) {
    outcome.code = "memory-fault";
    outcome.failure = explain_fault(report, task.names);
  } else if (report.unable) {
    outcome.code = "no-gpu";
    outcome.failure = "cannot be run: " + said;
  } else if (said.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos) {
    outcome.code = "memory-fault";
    outcome.failure = "touches memory outside its buffers";
  } else if (!said.empty()) {
    outcome.code = report.runs_begun ? "gpu-error" : "not-run";
    outcome.failure = (report.runs_begun ? "fails on the GPU: " : "cannot be run: ") + said;
  } else if (answer == Answer::gone || report.runs_done != runs) {
    outcome.code = "crash";
    outcome.failure = "ends its process";
  } else {
    outcome.finished = true;
  }
}

}  // namespace

Result<WorkerOutcome> run_gpu_worker(const WorkerTask& task) {
  const std::string text = encode(task.job);
  MemoryFile file(static_cast<int64_t>(text.size()));
  if (!file.data()) return Diagnostic{"gate", "no-memory", "no memory file for the helper process"};
  std::memcpy(file.data(), text.data(), text.size());
  std::lock_guard lock(mutex);
  auto answer = run(task, file);
  if (!answer) return answer.errors();
  WorkerOutcome outcome;
  explain_end(*answer, report_in(task.outputs), task, outcome);
  return outcome;
}

void end_gpu_worker() {
  std::lock_guard lock(mutex);
  process().reset();
}

}  // namespace autoperfect

// Runs another program: posix_spawn, never fork; limits, a deadline, bounded output, its own process group
// (killed whole). The child's environment is what `environment` says and nothing else.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "support/descriptor.h"
#include "support/result.h"

namespace autoperfect {

struct ProcessOptions {
  std::string input;                     // given on stdin
  std::vector<std::string> environment;  // "NAME=value"
  double seconds = 60;                   // deadline; the group is killed after it
  int64_t memory_bytes = 0;              // RLIMIT_AS of the child; 0: none
  int64_t output_bytes = 1 << 20;        // kept of each of stdout and stderr; the rest is read and dropped
  std::vector<int> keep_fds;  // stay open in the child under the same number; all others are closed
  const std::atomic<bool>* cancelled = nullptr;  // the group is killed soon after it becomes true
};

struct ProcessResult {
  int exit_code = -1;  // -1 when ended by a signal
  int signal = 0;
  bool timed_out = false, cancelled = false;
  std::string output, errors;
};

// As a shell would find it, but never relative to the current directory. Empty: not found.
std::string find_program(const std::string& name);

// A program that stays and is talked to through a socket, whose number in the child is its last argument. It
// is killed with its owner; its output goes nowhere.
class ResidentProcess {
 public:
  static Result<ResidentProcess> start(
      std::vector<std::string> arguments, const std::vector<std::string>& environment);
  ResidentProcess(ResidentProcess&& other) noexcept;
  ResidentProcess& operator=(ResidentProcess&& other) = delete;
  ~ResidentProcess();

  int socket() const { return socket_.get(); }

 private:
  ResidentProcess(pid_t pid, Descriptor socket) : pid_(pid), socket_(std::move(socket)) {}

  pid_t pid_;
  Descriptor socket_;
};

Result<ProcessResult> run_process(const std::vector<std::string>& arguments, const ProcessOptions& options);

}  // namespace autoperfect

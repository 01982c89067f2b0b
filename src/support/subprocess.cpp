#include "support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "support/descriptor.h"

// Choices:
// - stdin is a sealed memory file: the child reads at its own pace, nothing can block on a full pipe, and no
// SIGPIPE can
//   reach the user's process.
// - Limits are set with prlimit(2) right after posix_spawn returns, that is after exec: without fork there is
// no place
//   between the two. The child may run unlimited for some microseconds; a program that must not, sets them
//   itself.
// - Once the leader has ended, its group is killed while the leader is still a zombie (so the number of the
// group
//   cannot have been reused), then the leader is reaped. No process of the group and no zombie stays.

namespace autoperfect {
namespace {

using Clock = std::chrono::steady_clock;

Diagnostic failure(const std::string& what, int error) {
  return {"support", "subprocess", what + ": " + std::strerror(error)};
}

// Moved above stdin, stdout and stderr, so that wiring those in the child overwrites nothing.
Descriptor above_stdio(int fd) {
  if (fd > 2 || fd < 0) return Descriptor(fd);
  Descriptor low(fd);
  return Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

Descriptor memory_file_of(const std::string& bytes) {
  Descriptor file = above_stdio(memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || !write_all(file.get(), bytes) || lseek(file.get(), 0, SEEK_SET) != 0) return Descriptor();
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return file;
}

struct Pipe {
  Descriptor read, write;
};

bool make_pipe(Pipe& pipe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read = above_stdio(ends[0]);
  pipe.write = above_stdio(ends[1]);
  return pipe.read && pipe.write && fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) == 0;
}

// Owns the two structures of posix_spawn.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;

  // Exactly 0, 1, 2 and `keep` are open in the child.
  void set_files(int in, int out, int err, std::vector<int> keep) {
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    std::sort(keep.begin(), keep.end());
    int next = 3;
    for (int fd : keep) {
      for (; next < fd; ++next)
        posix_spawn_file_actions_addclose(&actions, next);
      posix_spawn_file_actions_adddup2(&actions, fd, fd);  // onto itself: clears close-on-exec
      next = std::max(next, fd + 1);
    }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions, next);
#endif
  }

  // Its own group, no blocked or ignored signal inherited.
  void set_process() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
};

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& text : strings)
    pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void limit(pid_t pid, const ProcessOptions& options) {
  auto set = [pid](auto resource, rlim_t value) {
    rlimit bound{value, value};
    prlimit(pid, resource, &bound, nullptr);  // fails only when it has already ended
  };
  set(RLIMIT_CORE, 0);
  if (options.memory_bytes > 0) set(RLIMIT_AS, static_cast<rlim_t>(options.memory_bytes));
  // Processor time, as a second line: should this process be killed, the child still ends.
  if (options.seconds < 1e6) set(RLIMIT_CPU, static_cast<rlim_t>(std::ceil(options.seconds)) * 4 + 1);
}

// Reads what there is, up to a few pipes full, so that an endless writer cannot keep us from looking at the
// clock. False once the other end is closed (or broken).
bool drain(int fd, std::string& into, int64_t keep) {
  char buffer[1 << 16];
  for (int reads = 0; reads < 64; ++reads) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    int64_t room = keep - static_cast<int64_t>(into.size());
    if (room > 0) into.append(buffer, static_cast<size_t>(std::min<int64_t>(n, room)));
  }
  return true;
}

enum class State {
  running,
  ended,
  stolen
};  // stolen: reaped by somebody else, the number may be another's by now

State state_of(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return State::stolen;
  return info.si_pid == pid ? State::ended : State::running;
}

int milliseconds_until(Clock::time_point deadline) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

// Collects output until the child has ended or its time is up.
void watch(
    pid_t pid,
    int out,
    int err,
    Clock::time_point deadline,
    const ProcessOptions& options,
    ProcessResult& result) {
#ifdef SYS_pidfd_open
  Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#else
  Descriptor process;
#endif
  constexpr int without_pidfd_ms = 10, cancelled_ms = 50;
  int longest_ms = process ? 60'000 : without_pidfd_ms;
  if (options.cancelled) longest_ms = std::min(longest_ms, cancelled_ms);
  pollfd files[3] = {{out, POLLIN, 0}, {err, POLLIN, 0}, {process.get(), POLLIN, 0}};
  while (state_of(pid) == State::running) {
    int wait_ms = milliseconds_until(deadline);
    if (wait_ms == 0) {
      result.timed_out = true;
      return;
    }
    if (options.cancelled && *options.cancelled) {
      result.cancelled = true;
      return;
    }
    poll(files, 3, std::min(wait_ms, longest_ms));
    // A closed pipe leaves the set (poll ignores negative descriptors), else it would be ready for ever.
    if (files[0].revents && !drain(out, result.output, options.output_bytes)) files[0].fd = -1;
    if (files[1].revents && !drain(err, result.errors, options.output_bytes)) files[1].fd = -1;
  }
}

Status reap(pid_t pid, ProcessResult& result) {
  int status = 0;
  pid_t reaped;
  do {
    reaped = waitpid(pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (reaped < 0) return failure("the exit status was taken by somebody else (SIGCHLD ignored?)", errno);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return Success{};
}

bool is_program(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.empty()) return "";
  if (name[0] == '/') return is_program(name) ? name : "";
  if (name.find('/') != std::string::npos) return "";
  const char* path = getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && folder[0] == '/' && is_program(folder + "/" + name)) return folder + "/" + name;
  }
  return "";
}

Result<ProcessResult> run_process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  if (arguments.empty()) throw InternalError("run_process: no program");
  auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(std::min(options.seconds, 1e8)));
  Descriptor input = memory_file_of(options.input);
  if (!input) return failure("no memory file for stdin", errno);
  Pipe out, err;
  if (!make_pipe(out) || !make_pipe(err)) return failure("no pipe", errno);

  SpawnPlan plan;
  plan.set_files(input.get(), out.write.get(), err.write.get(), options.keep_fds);
  plan.set_process();
  pid_t pid = -1;
  auto argv = pointers_to(arguments);
  auto envp = pointers_to(options.environment);
  int error = posix_spawn(&pid, argv[0], &plan.actions, &plan.attributes, argv.data(), envp.data());
  if (error) return failure("cannot start " + arguments[0], error);
  limit(pid, options);
  out.write.reset();
  err.write.reset();

  ProcessResult result;
  watch(pid, out.read.get(), err.read.get(), deadline, options, result);
  if (state_of(pid) != State::stolen) kill(-pid, SIGKILL);
  auto reaped = reap(pid, result);
  drain(out.read.get(), result.output, options.output_bytes);
  drain(err.read.get(), result.errors, options.output_bytes);
  if (!reaped) return reaped.errors();
  return result;
}

Result<ResidentProcess> ResidentProcess::start(
    std::vector<std::string> arguments, const std::vector<std::string>& environment) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failure("no socket", errno);
  Descriptor ours = above_stdio(ends[0]), theirs = above_stdio(ends[1]);
  Descriptor nowhere = above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!ours || !theirs || !nowhere) return failure("no descriptor", errno);
  SpawnPlan plan;
  plan.set_files(nowhere.get(), nowhere.get(), nowhere.get(), {theirs.get()});
  plan.set_process();
  arguments.push_back(std::to_string(theirs.get()));
  auto argv = pointers_to(arguments);
  auto envp = pointers_to(environment);
  pid_t pid = -1;
  int error = posix_spawn(&pid, argv[0], &plan.actions, &plan.attributes, argv.data(), envp.data());
  if (error) return failure("cannot start " + arguments[0], error);
  return ResidentProcess(pid, std::move(ours));
}

ResidentProcess::ResidentProcess(ResidentProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}

ResidentProcess::~ResidentProcess() {
  if (pid_ < 0) return;
  if (state_of(pid_) != State::stolen) kill(-pid_, SIGKILL);
  ProcessResult ignored;
  (void)reap(pid_, ignored);
}

}  // namespace autoperfect

#include "support/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstddef>

#include "support/descriptor.h"
#include "support/landlock.h"

namespace autoperfect {
namespace {

#if defined(__x86_64__)
constexpr uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t architecture = 0;
#endif

const std::vector<int> running_calls = {SYS_exit, SYS_exit_group, SYS_rt_sigreturn};

const std::vector<int> loading_calls = {
    SYS_exit,          SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_rt_sigaction,
    SYS_sigaltstack,   SYS_read,       SYS_pread64,      SYS_write,          SYS_close,
    SYS_lseek,         SYS_fstat,      SYS_newfstatat,   SYS_mmap,           SYS_mprotect,
    SYS_munmap,        SYS_madvise,    SYS_brk,          SYS_futex,          SYS_memfd_create,
    SYS_fcntl,         SYS_prctl,      SYS_seccomp,      SYS_getpid,         SYS_getrandom,
    SYS_clock_gettime, SYS_readlinkat, SYS_getcwd,       SYS_uname,          SYS_prlimit64,
#ifdef SYS_readlink
    SYS_readlink,
#endif
};

// What reaches other processes, the network or the kernel's own state. A compiler that tries is told that it
// may not.
const std::vector<int> calls_no_compiler_needs = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_perf_event_open,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_mount,
    SYS_umount2,
    SYS_unshare,
    SYS_setns,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_chroot,
    SYS_pivot_root,
    SYS_open_by_handle_at,
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
};

constexpr uint32_t offset_of_argument(int argument) {
  return static_cast<uint32_t>(
      offsetof(seccomp_data, args) + 8 * static_cast<size_t>(argument));  // its low half
}

void load(std::vector<sock_filter>& filter, uint32_t offset) {
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}
void finish(std::vector<sock_filter>& filter, uint32_t verdict) {
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, verdict));
}
// The next instruction runs only when the loaded word is `value`.
void unless_equal_skip_one(std::vector<sock_filter>& filter, uint32_t value) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
}

// openat() for reading only.
void allow_reading(std::vector<sock_filter>& filter) {
  constexpr uint32_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4));
  load(filter, offset_of_argument(2));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, writing, 0, 1));
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  finish(filter, SECCOMP_RET_ALLOW);
}

// Leaves the number of the call loaded. Numbers of the x32 ABI have another bit.
std::vector<sock_filter> filter_of_other_abis() {
  constexpr uint32_t x32 = 0x40000000;
  std::vector<sock_filter> filter;
  load(filter, offsetof(seccomp_data, arch));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0));
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  load(filter, offsetof(seccomp_data, nr));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, x32, 0, 1));
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  return filter;
}

std::vector<sock_filter> filter_for(Phase phase) {
  auto filter = filter_of_other_abis();
  if (phase == Phase::compiling) {
    for (int call : calls_no_compiler_needs) {
      unless_equal_skip_one(filter, static_cast<uint32_t>(call));
      finish(filter, SECCOMP_RET_ERRNO | EPERM);
    }
    finish(filter, SECCOMP_RET_ALLOW);
    return filter;
  }
  for (int call : phase == Phase::running ? running_calls : loading_calls) {
    unless_equal_skip_one(filter, static_cast<uint32_t>(call));
    finish(filter, SECCOMP_RET_ALLOW);
  }
  if (phase == Phase::loading) allow_reading(filter);
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  return filter;
}

void limit(int resource, int64_t value) {
  if (value <= 0) return;
  rlimit bound{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  setrlimit(static_cast<__rlimit_resource>(resource), &bound);
}

// What does not exist needs no rule.
void allow(int ruleset, const std::string& path, uint64_t rights) {
  Descriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status;
  if (!place || fstat(place.get(), &status) != 0) return;
  if (!S_ISDIR(status.st_mode)) rights &= landlock::of_a_file;
  landlock::PathRule rule{rights, place.get()};
  syscall(landlock::add_rule_call, ruleset, 1, &rule, 0);
}

}  // namespace

void follow_parent(pid_t parent, int signal) {
  prctl(PR_SET_PDEATHSIG, signal);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (getppid() != parent) _exit(2);
}

void limit_resources(const Limits& limits) {
  limit(RLIMIT_NOFILE, limits.open_files);
  limit(RLIMIT_STACK, limits.stack_bytes);
  limit(RLIMIT_FSIZE, limits.file_bytes);
  limit(RLIMIT_AS, limits.memory_bytes);
  limit(RLIMIT_CPU, static_cast<int64_t>(std::ceil(limits.seconds)));
}

bool restrict_files(const FileAccess& access) {
  const int version = landlock::version();
  if (version == 0) return false;
  const auto everything = landlock::everything(version);
  Descriptor ruleset(
      static_cast<int>(syscall(landlock::create_ruleset_call, &everything, sizeof everything, 0)));
  if (!ruleset) return false;
  for (auto& path : access.readable)
    allow(ruleset.get(), path, landlock::execute | landlock::read_file | landlock::read_directory);
  for (auto& path : access.writable)
    allow(ruleset.get(), path, everything.files & ~landlock::execute);
  return syscall(landlock::restrict_self_call, ruleset.get(), 0) == 0;
}

bool restrict_system_calls(Phase phase) {
  if (architecture == 0) return false;
  auto filter = filter_for(phase);
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace autoperfect

#include "gate/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

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

std::vector<sock_filter> filter_for(Phase phase) {
  std::vector<sock_filter> filter;
  load(filter, offsetof(seccomp_data, arch));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0));
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  load(filter, offsetof(seccomp_data, nr));  // numbers of the x32 ABI have another bit and match none below
  for (int call : phase == Phase::running ? running_calls : loading_calls) {
    unless_equal_skip_one(filter, static_cast<uint32_t>(call));
    finish(filter, SECCOMP_RET_ALLOW);
  }
  if (phase == Phase::loading) allow_reading(filter);
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  return filter;
}

void limit(int resource, rlim_t value) {
  rlimit bound{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &bound);
}

}  // namespace

void drop_privileges() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, 32);
  limit(RLIMIT_STACK, rlim_t{8} << 20);
}

bool restrict_system_calls(Phase phase) {
  if (architecture == 0) return false;
  auto filter = filter_for(phase);
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace autoperfect

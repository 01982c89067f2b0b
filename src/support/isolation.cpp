#include "support/isolation.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "support/landlock.h"

namespace autoperfect {
namespace {

constexpr std::array<std::string_view, 4> names = {"none", "process", "seccomp", "landlock"};

bool has_seccomp() {
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(SYS_seccomp)
  uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
#else
  return false;
#endif
}

}  // namespace

std::string_view name_of(Isolation level) {
  return names[static_cast<size_t>(level)];
}

std::optional<Isolation> find_isolation(std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Isolation>(i);
  }
  return std::nullopt;
}

Isolation isolation_available() {
  if (worker_path().empty()) return Isolation::none;
  if (!has_seccomp()) return Isolation::process;
  return landlock::version() > 0 ? Isolation::landlock : Isolation::seccomp;
}

std::string worker_path() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&worker_path), &info) || !info.dli_fname) return "";
  // Of a program that is no shared object, dladdr gives argv[0].
  std::string self = info.dli_fname;
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  if (self[0] != '/' || self.find(".so") == std::string::npos) {
    if (length <= 0) return "";
    self.assign(program, static_cast<size_t>(length));
  }
  std::string folder = self.substr(0, self.rfind('/'));
  for (const char* place : {"", "/../bin", "/..", "/../libexec"}) {
    std::string candidate = folder + place + "/autoperfect-worker";
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace autoperfect

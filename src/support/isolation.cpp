#include "support/isolation.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>

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

// Of the shared object this is in, or of the program.
std::string find_own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&has_seccomp), &info) || !info.dli_fname) return "";
  // Of a program dladdr gives argv[0].
  bool is_program = std::string_view(info.dli_fname).find(".so") == std::string_view::npos;
  std::error_code failed;
  auto path = is_program ? std::filesystem::read_symlink("/proc/self/exe", failed)
                         : std::filesystem::absolute(info.dli_fname, failed);
  return failed ? "" : path.parent_path().string();
}

// Found when the library is loaded: by a relative path, which means another place once the program has
// changed its folder.
const std::string own_folder = find_own_folder();

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
  for (const char* place : {"", "/../bin", "/..", "/../libexec"}) {
    std::string candidate = own_folder + place + "/autoperfect-worker";
    if (!own_folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace autoperfect

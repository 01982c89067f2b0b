// The system calls of Landlock, which neither libc nor older kernel headers have. Numbers and rights are
// those of the kernel's documentation.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace autoperfect::landlock {

constexpr long create_ruleset_call = 444, add_rule_call = 445, restrict_self_call = 446;

struct Ruleset {
  uint64_t files, network, scopes;
};
struct __attribute__((packed)) PathRule {
  uint64_t rights;
  int32_t parent;
};

constexpr uint64_t execute = 1, write_file = 1 << 1, read_file = 1 << 2, read_directory = 1 << 3;
constexpr uint64_t truncate = 1 << 14, device_control = 1 << 15;
constexpr uint64_t of_a_file = execute | write_file | read_file | truncate | device_control;

// 0: the system has none.
inline int version() {
  long found = syscall(create_ruleset_call, nullptr, 0, 1);
  return found > 0 ? static_cast<int>(found) : 0;
}

// Everything a version knows to forbid.
inline Ruleset everything(int version) {
  const int file_rights = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  return {(uint64_t{1} << file_rights) - 1, version >= 4 ? uint64_t{3} : 0, version >= 6 ? uint64_t{3} : 0};
}

}  // namespace autoperfect::landlock

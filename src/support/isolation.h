// How far a child process can be shut in here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autoperfect {

// Each level includes those before it.
enum class Isolation : uint8_t {
  none,
  process,   // a process of its own: limits, a deadline, no environment, guarded memory
  seccomp,   // whose system calls are filtered
  landlock,  // and which has no files
};

std::string_view name_of(Isolation level);
std::optional<Isolation> find_isolation(std::string_view name);

// What this system offers, whatever runs on it.
Isolation isolation_available();

// The helper program beside this library (never from PATH or the current directory). Empty: not installed.
std::string worker_path();

}  // namespace autoperfect

// What a child process gives up before it touches what is not trusted. For the helper program alone: nothing
// here can be taken back. What the system offers is asked with isolation_available().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace autoperfect {

// Gets `signal` when its parent ends (and ends now if that has happened), gains no privileges, leaves no
// core.
void follow_parent(pid_t parent, int signal);

struct Limits {
  int64_t memory_bytes = 0;  // 0: as it is
  int64_t stack_bytes = 0;
  int64_t file_bytes = 0;  // of one file
  int64_t open_files = 32;
  double seconds = 0;  // of processor time
};
void limit_resources(const Limits& limits);

// No file, socket of the network or foreign process from now on but these. False: this system has no
// Landlock.
struct FileAccess {
  std::vector<std::string> readable;  // files, or folders with all in them; may be executed as well
  std::vector<std::string> writable;
};
bool restrict_files(const FileAccess& access);

// System calls allowed from now on.
// compiling: all that a compiler and its children may need: no network, no other process.
// loading: what the dynamic loader needs, reading files only. Any other kills the process (SIGSYS).
// running: to end, and to return from the handler of a fault. A kernel needs nothing of the system.
enum class Phase { compiling, loading, running };
bool restrict_system_calls(Phase phase);  // false: this system has no seccomp, or none for this processor

}  // namespace autoperfect

// What the helper process gives up before it touches a candidate.
#pragma once

#include <string>

namespace autoperfect {

// Dies with its parent, gains no privileges, leaves no core, opens few files.
void drop_privileges();

// System calls allowed from now on; any other kills the process (SIGSYS).
// loading: what the dynamic loader needs, reading files only: no network, no other process, no file written.
// running: to end, and to return from the handler of a fault. A kernel needs nothing of the system.
enum class Phase { loading, running };
bool restrict_system_calls(Phase phase);  // false: this kernel has no seccomp, or none for this processor

}  // namespace autoperfect

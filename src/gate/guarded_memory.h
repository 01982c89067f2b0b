// Memory between two pages that cannot be touched, and a handler that notes which of them was.
#pragma once

#include "gate/job.h"

namespace autoperfect {

class GuardedMemory {
 public:
  // The pages of an arena of a file. Throws std::runtime_error when the system refuses.
  static char* map_file(
      int fd, const Arena& arena, bool writable, WorkerReport::Region region, int64_t buffer);
  // Private memory of that many bytes; it ends with its pages, up to 63 bytes for the alignment.
  static char* allocate(int64_t bytes, WorkerReport::Region region);

  // The loaded object: a write there is a kernel that keeps something between calls.
  static void remember_state(uintptr_t begin, uintptr_t end);

  // From now on a fault is described in `report` before the process dies of it.
  static void watch_faults(WorkerReport* report);
};

}  // namespace autoperfect

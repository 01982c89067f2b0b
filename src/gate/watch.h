// What a watched build calls before each access to memory, and when it meets undefined behaviour (the names
// are those that compilers emit). An access must lie in one of the regions of the run, exactly; on the stack
// and in constant tables also outside the red zones the compiler put there. The first that does not is noted
// in the report, and the process ends.
#pragma once

#include <cstdint>

#include "gate/job.h"

namespace autoperfect {

struct WatchedRegion {
  uintptr_t begin = 0, end = 0;
  bool writable = false;
  WorkerReport::Region region = WorkerReport::nowhere;
  int64_t buffer = 0;
};

class Watch {
 public:
  // Maps what the compiled code keeps beside the stack. `code`: any address in the loaded object.
  static void begin(WorkerReport* report, const void* code);
  // Before each call of the kernel, in memory that is there already.
  static void forget_regions();
  static void add_region(const WatchedRegion& region);
};

// Segments of the loaded object that an address lies in; the writable ones are made read-only when `seal` is
// set.
struct LoadedRange {
  uintptr_t begin = 0, end = 0;
};
LoadedRange loaded_range(const void* code, bool seal);

}  // namespace autoperfect

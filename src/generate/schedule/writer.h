// Writes the C++ of one schedule of one kernel.
#pragma once

#include <optional>
#include <string>

#include "generate/candidate.h"
#include "generate/schedule/nest.h"
#include "generate/schedule/passes.h"

namespace autoperfect::schedule {

// The choices measurement decides between.
struct Choice {
  int unroll = 4;         // vectors a step of a sweep; each has its own accumulators
  bool stream = false;    // outputs leave the cache alone
  bool prefetch = false;  // the last sweep asks for the rows of the next unit
  Keep keep = Keep::nothing;
  bool strips = false;  // columns: a strip of them at a time, row by row
  std::string text() const;
  bool operator==(const Choice&) const = default;
};

struct Written {
  std::string source;
  Launch launch;
};

// None when the kernel holds something the CPU schedules have no form for.
std::optional<Written> write_source(const Kernel& kernel, const Nest& nest, const Choice& choice);

}  // namespace autoperfect::schedule

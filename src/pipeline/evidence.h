// The record that tuning keeps of a region (JSON in the cache), as explanations and reports read it.
#pragma once

#include <string>

namespace autoperfect {

struct Evidence {
  bool gated = false;
  int families = 0;       // input families the winner passed
  double worst_ulp = 0;   // of them all, in units of the output dtype ...
  double eager_ulp = 0;   // ... and MLX eager's in that family
  std::string isolation;  // of the gate's helper process
  double bytes = 0;       // read and written by the call that was timed
};

// Fields that are missing or damaged stay at their defaults.
Evidence parse_evidence(const std::string& json);

}  // namespace autoperfect

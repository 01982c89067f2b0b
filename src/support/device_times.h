#pragma once

namespace autoperfect {

// Seconds of a call by a GPU's own clock, nothing waited for; 0: not measured.
struct DeviceTimes {
  double warm = 0;  // again and again on the same arrays
  double cold = 0;  // with nothing of its own in L2

  bool operator==(const DeviceTimes&) const = default;
};

}  // namespace autoperfect

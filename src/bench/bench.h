// Honest timing: warm-up, fixed iterations, contenders interleaved round by round, median and spread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/device_times.h"

namespace autoperfect {

struct Contender {
  std::string name;           // "eager", "mx.compile", a candidate's provenance
  std::function<void()> run;  // finished when it returns; throws to be left out
  int calls = 1;              // that one run makes: times are those of one call
};

struct Timing {
  std::string name;
  double median = 0, low = 0, high = 0;  // seconds; low and high are the quartiles
  int iterations = 0;
  bool failed = false;
  std::string error = {};  // why it failed
  DeviceTimes on_device = {};
};

struct BenchOptions {
  int warmup = 2;
  int iterations = 15;     // rounds; each contender runs once a round, in rotating order
  double max_seconds = 2;  // of the rounds, which stop early, but never below 3; a quarter of it warms up
  std::function<void()> before_rounds = {};  // called once everybody is warm; its time does not count
  std::function<double()> clock;  // seconds, monotonic; empty: the machine's (tests give their own)
};

// One Timing per contender, in the same order.
std::vector<Timing> bench(const std::vector<Contender>& contenders, const BenchOptions& options);

// True when a is faster than b by more than `margin`, by the medians and by the lower quartiles. Noise only
// adds time, so the lower quartiles are what both can do; upper quartiles say how busy the machine was.
bool clearly_faster(const Timing& a, const Timing& b, double margin);

}  // namespace autoperfect

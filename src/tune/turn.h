// Processes of one user that time kernels take turns: two at once would measure each other.
#pragma once

#include <string>
#include <vector>

#include "bench/bench.h"
#include "support/descriptor.h"

namespace autoperfect {

class TimingTurn {
 public:
  // Waits for those who have the turn, but not for ever: one of them may have been stopped. An empty
  // directory, or one where no file can be made, gives the turn at once.
  explicit TimingTurn(const std::string& directory, double patience_seconds = 60);
  bool alone() const { return alone_; }

 private:
  Descriptor file_;  // closing it ends the turn, as the end of the process does
  bool alone_ = false;
};

// bench() whose rounds wait for the turn among the processes that share the cache. What compiles in a first
// call (as mx.compile does on a GPU) does so beside others.
std::vector<Timing> bench_in_turn(const std::vector<Contender>& contenders, BenchOptions options);

}  // namespace autoperfect

// Who wins: a pure function of what was measured, or of what the cost model expects.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "bench/bench.h"

namespace autoperfect {

struct Score {
  Timing timing;
  std::string_view source;
};

// The fastest; among those it has no significant lead over, the shorter source, then the lower hash. Nothing
// when none could be timed. The order of the scores does not matter.
std::optional<size_t> best_of(const std::vector<Score>& scores);

// Whether it is faster than every baseline that could be timed, by the margin.
bool beats_all(const Timing& timing, const std::vector<Timing>& baselines, double margin);

}  // namespace autoperfect

// What the cost model expects of a candidate before, or instead of, timing it.
#pragma once

#include "tune/life.h"

namespace autoperfect {

// A kernel as the region's cost says, less what its launch leaves idle; a text of MLX's operations op by op.
double estimate_seconds(const Contestant& contestant, const Life& life, const Target& target);

}  // namespace autoperfect

// The description of this machine that costs and reports rest on: measured once, kept in the cache directory.
#pragma once

#include "cost/cost.h"

namespace autoperfect {

const Target& this_machine();

// Bytes per second, read plus written, of a streaming copy over all cores, measured now: for figures taken
// side by side.
double measured_copy_limit();

}  // namespace autoperfect

// The description of this machine that costs and reports rest on: measured once, kept in the cache directory.
#pragma once

#include "cost/cost.h"

namespace autoperfect {

const Target& this_machine();

}  // namespace autoperfect

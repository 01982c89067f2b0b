// What no processor does: the shortest time a kernel can take, by the bytes it must move and the products it
// must form, with every benefit of the doubt. A candidate that is timed below it has not done its work.
#pragma once

#include "cost/target.h"
#include "ir/kernel.h"

namespace autoperfect {

double physical_floor_seconds(const Kernel& kernel, const Target& target);

}  // namespace autoperfect

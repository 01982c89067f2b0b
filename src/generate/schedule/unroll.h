// A short axis written out: every value that varies over it becomes one for each position, and loops need it
// no more. So a product of a few rows reads the other operand once for all of them.
#pragma once

#include "ir/kernel.h"

namespace autoperfect::schedule {

// The axis is static, and nothing is reduced or scanned along it.
Kernel unroll_axis(const Kernel& kernel, AxisId axis);

}  // namespace autoperfect::schedule

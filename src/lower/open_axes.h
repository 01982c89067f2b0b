// Which axes of a lowered kernel have any size.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "lower/lower.h"

namespace autoperfect {

// `closed`, per axis: its size is written down somewhere.
void open_axes(Kernel& kernel, OpenAxes open, const std::vector<bool>& closed);

}  // namespace autoperfect

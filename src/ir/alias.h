// Which output may be written over which input, whatever loops compute it: both are `row` and alike in
// shape and in bytes of an element, and all that depends on the input is elementwise, over the axes of the
// output's one value, reads the input where that value is stored, and is stored nowhere else. So each element
// is read at its own place alone, before it is written, and nothing reads it later.
#pragma once

#include "ir/kernel.h"

namespace autoperfect {

// Of a kernel that is legal otherwise.
bool may_alias(const Kernel& kernel, BufferId output, BufferId input);

// Each output gets the first input it may take that no output before it has; none where parts of a kernel
// that run for themselves may each compute it.
void choose_aliases(Kernel& kernel);

}  // namespace autoperfect

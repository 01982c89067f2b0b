// One order for the statements and axes of a kernel, whatever order they were written in: what its outputs
// need, output by output and operand by operand, each value right after what it needs; axes as the stores and
// then the loads with most axes index with them, outer dimensions first. Values that no output needs are
// dropped. Buffers stay: their order is the ABI. Idempotent.
#pragma once

#include "ir/kernel.h"

namespace autoperfect {

// Of a legal kernel.
Kernel canonical_order(const Kernel& kernel);

}  // namespace autoperfect

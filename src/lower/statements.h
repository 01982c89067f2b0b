// A traced region as the statements of a kernel: buffers, axes, and a value for each instance.
#pragma once

#include "fuse/trace.h"
#include "ir/kernel.h"

namespace autoperfect {

Kernel write_statements(const Graph& graph, const Region& region, const Trace& trace);

}  // namespace autoperfect

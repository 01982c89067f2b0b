// A part of a kernel as a kernel of its own, for loops of its own. Axes and buffers keep their numbers; what
// passes between parts goes through scratch, which the parts see as one more buffer.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace autoperfect::schedule {

struct Extract {
  Kernel kernel;
  BufferId scratch = -1;      // the buffer added
  KernelValueId result = -1;  // operand_part: the value that is stored to it
};

// Operand `i` of a value, in f32, stored to scratch.
Extract operand_part(const Kernel& kernel, KernelValueId value, int i);

// Everything that is stored, with `given` loaded from scratch, in f32, rather than computed.
Extract stored_part(const Kernel& kernel, KernelValueId given);

// What values `wanted` need, themselves included, per value.
std::vector<bool> cone_of(const Kernel& kernel, const std::vector<KernelValueId>& wanted);

// The values of `keep` alone, renumbered: `moved`, per value of before.
Kernel keep_values(const Kernel& kernel, const std::vector<bool>& keep, std::vector<KernelValueId>& moved);

}  // namespace autoperfect::schedule

// How dear one element of an op is, in classes: everything that estimates or avoids work asks here.
#pragma once

#include <cstdint>

#include "ir/dtype.h"
#include "ir/op.h"

namespace autoperfect {

enum class Weight : uint8_t { free, light, division, heavy };

Weight weight_of(Op op);

// Vector instructions an element takes in a kernel of ours, the rounding of a 16-bit dtype included: with as
// many lanes as f32 has, and as fast as an FMA.
double instructions_of(Op op, Dtype dtype);

}  // namespace autoperfect

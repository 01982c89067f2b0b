// How dear one element of an op is, in classes: everything that estimates or avoids work asks here.
#pragma once

#include <cstdint>

#include "ir/op.h"

namespace autoperfect {

enum class Weight : uint8_t { free, light, division, heavy };

Weight weight_of(Op op);

}  // namespace autoperfect

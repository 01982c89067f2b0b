// Which conversions lose nothing.
#pragma once

#include "ir/dtype.h"

namespace autoperfect {

// Every value of `from` is one of `to`.
bool is_lossless(Dtype from, Dtype to);

// The whole numbers from `first` to `last` are values of the dtype.
bool holds(Dtype dtype, double first, double last);

}  // namespace autoperfect

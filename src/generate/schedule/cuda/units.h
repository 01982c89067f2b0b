// An open axis that is as long as rows of a buffer. Of any length, rows begin anywhere, and no load could
// take a whole pack; so the code counts in units of a pack, and a guard admits multiples of it only.
#pragma once

#include "generate/candidate.h"
#include "generate/schedule/nest.h"
#include "ir/kernel.h"

namespace autoperfect::schedule::cuda {

// What the code for this kernel may assume of its open axis; multiple 1: nothing.
SizeGuard unit_of_rows(const Kernel& kernel);

// The nest with d0 counting units.
Nest in_units(Nest nest, int64_t unit);

// An expression of d0 in units, of the size itself.
std::string of_size(std::string expression, int64_t unit);

}  // namespace autoperfect::schedule::cuda

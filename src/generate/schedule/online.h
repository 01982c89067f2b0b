// Sums of exponentials of what a row has less its largest, as softmax and logsumexp have them: one sweep
// finds both, with the largest so far, and scales the sum by how much that grew.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace autoperfect::schedule {

// Per value: of a sum over exp(x - max x), all in f32, the difference; -1 of all others.
std::vector<int> online_sums(const Kernel& kernel);

}  // namespace autoperfect::schedule

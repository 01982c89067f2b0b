// Which sweep over the elements computes what. Sweep 1 computes every reduction that needs no other
// reduction, sweep 2 those that need results of sweep 1, and so on; outputs that vary over elements are
// stored in the first sweep that can.
#pragma once

#include <string>
#include <vector>

#include "generate/schedule/nest.h"
#include "ir/kernel.h"

namespace autoperfect::schedule {

enum class Keep { nothing, costly, everything };

struct Passes {
  int count = 0;             // sweeps
  std::vector<int> ready;    // per value: sweeps that must be over before it can be computed
  std::vector<bool> varies;  // per value: changes inside the loops of a unit (else it is one per unit)
  std::vector<std::vector<int>> reductions, outputs;  // per sweep (0-based): values
  std::vector<int> kept_in;  // per value: the sweep that writes it to scratch, -1 when it is recomputed
  std::vector<int> kept;     // values with a scratch row, in order
};

Passes find_passes(const Kernel& kernel, const Nest& nest, Keep keep);

// A contraction is one too: the sum of products.
bool is_reduction(const KernelValue& value);
bool is_scan(const KernelValue& value);

}  // namespace autoperfect::schedule

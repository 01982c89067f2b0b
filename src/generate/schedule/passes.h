// Which sweep over the elements computes what. Sweep 1 computes every reduction that needs no other
// reduction, sweep 2 those that need results of sweep 1, and so on; outputs that vary over elements are
// stored in the first sweep that can.
#pragma once

#include <span>
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
  // Per value: of a sum that is found in the sweep of its largest (online.h) the difference it goes through,
  // or -1. The exponentials are then nobody's business but its own.
  std::vector<int> online;
};

enum class Sums { after, online };

Passes find_passes(const Kernel& kernel, const Nest& nest, Keep keep, Sums sums = Sums::after);

// What its sweep reads for it.
std::span<const KernelOperand> swept_operands(const Kernel& kernel, const Passes& passes, int value);

// A contraction is one too: the sum of products.
bool is_reduction(const KernelValue& value);
bool is_scan(const KernelValue& value);

}  // namespace autoperfect::schedule

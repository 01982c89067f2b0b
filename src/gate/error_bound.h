// How far an honest kernel may be from the oracle, element by element: a bound on the rounding errors of the
// kernel's own operations, carried through to its outputs. It tells a result that is wrong from one that is
// merely ill-conditioned (x - mean(x) near 0, a threshold hit within rounding, a variance that may or may not
// be exactly 0).
#pragma once

#include <mutex>
#include <vector>

#include "ir/kernel.h"
#include "reference/tensor.h"

namespace autoperfect {

// Per output an f64 tensor of its shape: absolute error allowed. 0: exact. Infinity: not determined by the
// inputs at the kernel's precision, so that even NaN or infinity may differ. NaN (next to a NaN of the
// oracle) counts as 0.
Result<std::vector<Tensor>> error_bounds(const Kernel& kernel, const std::vector<Tensor>& inputs);

// Computed when first asked for, once, for all candidates; from any thread. Where they cannot be had, all are
// 0.
class LazyErrorBounds {
 public:
  const std::vector<Tensor>& of(const Kernel& kernel, const std::vector<Tensor>& inputs) {
    std::call_once(once_, [&] { compute(kernel, inputs); });
    return bounds_;
  }

 private:
  void compute(const Kernel& kernel, const std::vector<Tensor>& inputs);
  std::once_flag once_;
  std::vector<Tensor> bounds_;
};

}  // namespace autoperfect

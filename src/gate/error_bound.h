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

// Per output an f64 tensor of its shape: not 0 where the sign of a zero is not determined either, since
// rounding may have put a number of the other sign in its place. Of elementwise operations only: what a
// reduction, scan or contraction leaves open is not in it.
Result<std::vector<Tensor>> sign_doubts(const Kernel& kernel, const std::vector<Tensor>& inputs);

// Such tensors, computed when first asked for, once, for all candidates; from any thread. Where it cannot
// be had, all are 0.
class LazyTensors {
 public:
  using Compute = Result<std::vector<Tensor>> (*)(const Kernel& kernel, const std::vector<Tensor>& inputs);
  explicit LazyTensors(Compute compute) : compute_(compute) {}
  const std::vector<Tensor>& of(const Kernel& kernel, const std::vector<Tensor>& inputs);

 private:
  Compute compute_;
  std::once_flag once_;
  std::vector<Tensor> tensors_;
};

}  // namespace autoperfect

// What a load of a kernel reads: index maps, guards and gathers.
#pragma once

#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "reference/array.h"

namespace autoperfect {

// A kernel in the middle of a run: the sizes of its axes, and the arrays known so far.
struct KernelState {
  const Kernel& kernel;
  Shape sizes;
  std::vector<std::optional<Array>> buffers, values;

  Shape sizes_of(const std::vector<AxisId>& axes) const;
};

// An array over `axes`, which may have more axes than the load varies over.
struct Loaded {
  Array array;
  std::vector<AxisId> axes;
};

// Every element that the load reads. An error when an index that nothing guards leaves the buffer.
Result<Loaded> run_load(const KernelState& state, const KernelOperand& load, Where where);

// Elements of an array over `own` axes, walked along `axes`.
Walk walk_along(const Array& array, const std::vector<AxisId>& own, const std::vector<AxisId>& axes);

int64_t value_of(const Affine& affine, const std::vector<AxisId>& axes, const std::vector<int64_t>& position);

}  // namespace autoperfect

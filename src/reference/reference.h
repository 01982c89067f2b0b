// The reference executor: plain, slow, obvious. Runs GraphIR or KernelIR on the CPU, either in double (the
// oracle) or in exact dtype semantics (rounded to each value's dtype where MLX rounds it). It shares no code
// with the kernels it judges.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/kernel.h"
#include "reference/tensor.h"

namespace autoperfect {

enum class Precision {
  oracle,  // floats in double from the inputs on, no rounding in between; integers and bools exact
  exact,   // every value rounded to its dtype (of a wide kernel, halves where they are stored only); float
           // sums accumulate in `numerics.accumulate`
};

// Inputs in order, of the declared types (a dynamic axis may have another size: sizes are taken from the
// inputs). Floating outputs of the oracle are f64 tensors; all others have the declared dtype.
Result<std::vector<Tensor>> run_reference(
    const Graph& graph, const std::vector<Tensor>& inputs, Precision precision);
Result<std::vector<Tensor>> run_reference(
    const Kernel& kernel, const std::vector<Tensor>& inputs, Precision precision);

}  // namespace autoperfect

// What benchmarks and tests ask of the core beside compiling: the oracle, kernels by their text, the machine.
#pragma once

#include "pipeline/pipeline.h"
#include "python/python_array.h"

namespace autoperfect::python {

std::vector<Tensor> tensors_of(const Arrays& arrays);
// Throws std::invalid_argument with the errors when there are none.
nb::list arrays_of(const Result<std::vector<Tensor>>& tensors);

// Adds copy_limit, run_kernel to the module.
void add_inspection(nb::module_& module);

// name, kind, use_mlx, reason, provenance, from_cache, seconds, baselines, worst_ulp, attempts.
nb::dict outcome_dict(const RegionOutcome& outcome);
// One a region.
nb::list outcomes_of(const Program& program);
nb::dict whole_of(const Program& program);

// The program's results in double precision as the reference executor computes them: a list of float64 arrays
// (MLX, CPU). Throws std::invalid_argument when the program holds an op the reference does not know.
nb::list oracle_of(const Program& program, const Arrays& arguments);

}  // namespace autoperfect::python

// Plans seen from outside, for benchmarks and tests: what the stages before tuning take, and a function built
// after another plan than compile() makes, with the model's prediction for it.
#pragma once

#include <memory>
#include <string>

#include "pipeline/pipeline.h"
#include "python/python_array.h"

namespace autoperfect::python {

// A program of fixed arguments: traced, planned with the given options, and tuned when they say so.
class PlannedFunction {
 public:
  PlannedFunction(nb::callable function, const Arrays& arguments, const CompileOptions& options);

  const Program& program() const { return *program_; }
  Arrays call(const Arrays& arguments) const;
  int kernels() const;  // regions that run one

 private:
  std::shared_ptr<Program> program_;
};

// Adds PlannedFunction and plan_only to the module.
void add_planning(nb::module_& module);

}  // namespace autoperfect::python

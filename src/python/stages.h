// What each stage makes of a function, and every way to run it, for tests: texts, interpretation by MLX and
// by the reference, regions one by one, the whole program. A bug of ours is thrown here, never answered with
// MLX.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/pipeline.h"
#include "python/python_array.h"

namespace autoperfect::python {

class Stages {
 public:
  // `region_code`: "raised" or "untimed" (RegionCode), with which of the schedules.
  Stages(
      nb::callable function,
      Arrays arguments,
      const std::string& region_code,
      size_t schedule,
      bool gate_by_cost,
      const std::string& numerics);

  const Program& program() const { return *program_; }
  // Arguments and captured arrays in the order in which a graph of this program takes them.
  Arrays inputs_of(const Graph& graph) const;
  // A graph's text run by MLX, an opaque node by the primitive that was captured. `wanted`: names of values
  // to return instead of the outputs. Seed 0: as it is; else perturbed.
  Arrays interpret(const std::string& text, const std::vector<std::string>& wanted, uint64_t seed) const;
  // The program as it would be called.
  Arrays call() const { return program_->call(arguments_); }
  // One region with given inputs.
  Arrays run_region(size_t region, const Arrays& inputs) const;

 private:
  Arrays arguments_;
  std::shared_ptr<Program> program_;
};

// Adds Stages, interpret, run_reference and judge to the module.
void add_stages(nb::module_& module);

}  // namespace autoperfect::python

#include "python/inspect.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "mlx/ops.h"
#include "pipeline/evidence.h"
#include "pipeline/region_runner.h"
#include "pipeline/whole.h"
#include "python/tuning.h"
#include "reference/reference.h"
#include "tune/machine.h"

namespace autoperfect::python {

std::vector<Tensor> tensors_of(const Arrays& arrays) {
  std::vector<Tensor> tensors;
  for (const auto& array : arrays)
    tensors.push_back(to_tensor(array));
  return tensors;
}

nb::list arrays_of(const Result<std::vector<Tensor>>& tensors) {
  if (!tensors) throw std::invalid_argument("[reference] " + format(tensors.errors()));
  nb::list list;
  for (const auto& tensor : *tensors)
    list.append(to_python(to_array(tensor)));
  return list;
}

nb::dict outcome_dict(const RegionOutcome& outcome) {
  nb::dict row, baselines;
  double seconds = 0;
  for (const auto& timing : outcome.timings) {
    bool baseline = timing.name == "eager" || timing.name == "mx.compile";
    if (baseline) baselines[timing.name.c_str()] = timing.median;
    if (timing.name == outcome.winner.provenance) seconds = timing.median;
  }
  row["name"] = outcome.kernel.name;
  row["kind"] = std::string(name(outcome.region.kind));
  row["use_mlx"] = outcome.use_mlx;
  row["reason"] = outcome.reason;
  row["provenance"] = outcome.winner.provenance;
  row["from_cache"] = outcome.from_cache;
  row["seconds"] = seconds;
  row["baselines"] = baselines;
  row["worst_ulp"] = parse_evidence(outcome.evidence).worst_ulp;
  row["attempts"] = attempts_of(outcome);
  return row;
}

namespace {

nb::list run_kernel(const std::string& text, const Arrays& inputs, const std::string& how) {
  auto kernel = parse_kernel(text);
  if (!kernel) throw std::invalid_argument("[run_kernel] " + format(kernel.errors(), text));
  if (how == "mlx") {
    nb::list list;
    for (auto& array : interpret(raise(*kernel), inputs))
      list.append(to_python(array));
    return list;
  }
  if (how != "oracle" && how != "exact")
    throw std::invalid_argument("[run_kernel] how is \"oracle\", \"exact\" or \"mlx\", not \"" + how + "\"");
  return arrays_of(
      run_reference(*kernel, tensors_of(inputs), how == "oracle" ? Precision::oracle : Precision::exact));
}

}  // namespace

nb::list outcomes_of(const Program& program) {
  nb::list rows;
  for (const auto& outcome : program.outcomes())
    rows.append(outcome_dict(outcome));
  return rows;
}

nb::dict whole_of(const Program& program) {
  const auto& whole = program.whole();
  nb::dict row, timings;
  for (const auto& timing : whole.timings)
    timings[timing.name.c_str()] = timing.median;
  row["way"] = std::string(name(whole.way));
  row["reason"] = whole.reason;
  row["timings"] = timings;
  return row;
}

nb::list oracle_of(const Program& program, const Arrays& arguments) {
  Arrays inputs = arguments;
  const auto& constants = program.captured().constants;
  inputs.insert(inputs.end(), constants.begin(), constants.end());
  return arrays_of(run_reference(program.captured().graph, tensors_of(inputs), Precision::oracle));
}

void add_inspection(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "copy_limit",
      [] { return measured_copy_limit(); },
      "Bytes per second, read plus written, of this machine's measured streaming copy over all cores.");
  module.def(
      "run_kernel",
      [](const std::string& text, nb::list arrays, const std::string& how) {
        Arrays inputs;
        for (auto item : arrays)
          inputs.push_back(array_of(item.ptr()));
        return run_kernel(text, inputs, how);
      },
      "text"_a,
      "inputs"_a,
      "how"_a,
      "Outputs of a KernelIR text for inputs in ABI order; how: \"oracle\" (reference in double), \"exact\" "
      "(reference in "
      "the values' own dtypes), \"mlx\" (the same mathematics as MLX operations).");
}

}  // namespace autoperfect::python

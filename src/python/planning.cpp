#include "python/planning.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "ir/graph_text.h"
#include "pipeline/predict.h"
#include "python/replayed.h"
#include "tune/machine.h"

namespace autoperfect::python {

namespace {

using namespace nb::literals;

nb::dict figures_of(const Program& program) {
  nb::dict figures, seconds;
  for (const auto& [stage, time] : program.times().all())
    seconds[stage.c_str()] = time;
  figures["seconds"] = seconds;
  figures["captured_ops"] = program.captured().graph.nodes.size();
  figures["canonical_ops"] = program.graph().nodes.size();
  figures["regions"] = program.plan().regions.size();
  return figures;
}

// Peak of the memory alive, as MLX runs the captured program and as the plan does.
nb::tuple live_bytes(const Program& program) {
  std::vector<std::vector<NodeId>> groups;
  for (const auto& region : program.plan().regions)
    groups.push_back(region.nodes);
  return nb::make_tuple(peak_live_bytes(program.captured().graph), peak_live_bytes(program.graph(), groups));
}

nb::list region_costs(const Program& program) {
  nb::list rows;
  for (const auto& region : program.plan().regions) {
    nb::dict row;
    row["bound"] = std::string(name(region.cost.bound));
    row["bytes"] = region.cost.bytes_read + region.cost.bytes_written;
    row["flops"] = region.cost.flops;
    row["fused_seconds"] = region.cost.fused_seconds;
    row["unfused_seconds"] = region.cost.unfused_seconds;
    rows.append(row);
  }
  return rows;
}

}  // namespace

PlannedFunction::PlannedFunction(
    nb::callable function, const Arrays& arguments, const CompileOptions& options) {
  auto traced = array_function(std::move(function));
  nb::gil_scoped_release released;
  program_ = Program::build(traced, arguments, options);
}

Arrays PlannedFunction::call(const Arrays& arguments) const {
  nb::gil_scoped_release released;
  return program_->call(arguments);
}

int PlannedFunction::kernels() const {
  const auto& outcomes = program_->outcomes();
  return static_cast<int>(
      std::count_if(outcomes.begin(), outcomes.end(), [](const auto& outcome) { return !outcome.use_mlx; }));
}

void add_planning(nb::module_& module) {
  nb::class_<PlannedFunction>(module, "PlannedFunction")
      .def(
          "__init__",
          [](PlannedFunction* self,
             nb::callable function,
             const Arrays& arguments,
             bool kernels,
             bool gate_by_cost,
             int most_ops,
             bool recompute) {
            CompileOptions options;
            options.region_code = kernels ? RegionCode::untimed : RegionCode::none;
            options.fuse.gate_by_cost = gate_by_cost;
            options.fuse.most_ops = most_ops;
            options.fuse.recompute = recompute;
            new (self) PlannedFunction(std::move(function), arguments, options);
          },
          "function"_a,
          "arguments"_a,
          "kernels"_a = true,
          "gate_by_cost"_a = true,
          "most_ops"_a = FuseOptions().most_ops,
          "recompute"_a = true)
      .def("__call__", &PlannedFunction::call, "arguments"_a)
      .def_prop_ro("kernels", &PlannedFunction::kernels)
      .def_prop_ro("figures", [](const PlannedFunction& self) { return figures_of(self.program()); })
      .def_prop_ro("live_bytes", [](const PlannedFunction& self) { return live_bytes(self.program()); })
      .def_prop_ro("region_costs", [](const PlannedFunction& self) { return region_costs(self.program()); })
      .def_prop_ro(
          "plan",
          [](const PlannedFunction& self) { return print(self.program().graph(), self.program().plan()); })
      .def_prop_ro("predicted_seconds", [](const PlannedFunction& self) {
        return predict_seconds(self.program(), *self.program().target());
      });
  module.def(
      "machine",
      [] {
        const Target& target = this_machine();
        nb::dict row;
        row["copy_bytes_per_second"] = target.copy_bytes_per_second;
        row["flops_per_second"] = target.flops_per_second;
        row["threads"] = target.threads;
        return row;
      },
      "What this machine reaches, as the cost model takes it.");
  module.def(
      "gpu",
      [] {
        const Target* target = target_of(mlx::core::Device(mlx::core::Device::gpu));
        if (!target) throw std::runtime_error("[gpu] Nothing of ours runs on a GPU here.");
        nb::dict row;
        row["name"] = target->name;
        row["multiprocessors"] = target->threads;
        row["copy_bytes_per_second"] = target->copy_bytes_per_second;
        row["launch_seconds"] = target->launch_seconds;
        return row;
      },
      "What the GPU reaches, as the cost model takes it.");
}

}  // namespace autoperfect::python

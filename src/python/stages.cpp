#include "python/stages.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "fuse/plan_text.h"
#include "gate/judge.h"
#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "pipeline/region_runner.h"
#include "python/compiled_function.h"
#include "python/inspect.h"
#include "python/perturb.h"
#include "python/replayed.h"
#include "reference/reference.h"

namespace autoperfect::python {

namespace {

namespace mx = mlx::core;

template <class T>
T parsed(Result<T> result, const std::string& text) {
  if (!result) throw std::invalid_argument("[parse] " + format(result.errors(), text));
  return std::move(*result);
}

// Every value of a graph in order. `captured`: has the primitives of opaque nodes; may be null.
class Interpretation {
 public:
  Interpretation(const Graph& graph, const Captured* captured, uint64_t seed)
      : graph_(graph), captured_(captured), values_(graph.values.size()) {
    if (seed != 0) perturbation_.emplace(seed);
  }

  void run(const Arrays& inputs) {
    if (inputs.size() != graph_.inputs.size())
      throw std::invalid_argument("[interpret] another number of inputs");
    for (size_t i = 0; i < inputs.size(); ++i)
      values_[graph_.inputs[i].value] = inputs[i];
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      run_node(static_cast<NodeId>(n));
  }
  const mx::array& at(ValueId value) const { return *values_[value]; }

 private:
  void run_node(NodeId id) {
    const auto& node = graph_.nodes[id];
    Arrays operands;
    for (auto operand : node.operands)
      operands.push_back(*values_[operand]);
    auto results =
        node.op == Op::opaque && captured_
            ? replay(*captured_, static_cast<NodeId>(node.attributes.get<int64_t>("key")), operands)
            : apply(graph_, id, operands);
    if (perturbation_ && results.size() == 1)
      results[0] = perturbation_->move(graph_, id, operands, results[0]);
    for (size_t i = 0; i < results.size(); ++i)
      values_[node.results[i]] = results[i];
  }

  const Graph& graph_;
  const Captured* captured_;
  std::vector<std::optional<mx::array>> values_;
  std::optional<Perturbation> perturbation_;
};

// The outputs when no names are given.
std::vector<ValueId> wanted_values(const Graph& graph, const std::vector<std::string>& names) {
  if (names.empty()) return graph.outputs;
  std::unordered_map<std::string, ValueId> by_name;
  for (size_t v = 0; v < graph.values.size(); ++v)
    by_name[graph.values[v].name] = static_cast<ValueId>(v);
  std::vector<ValueId> found;
  for (const auto& name : names) {
    auto it = by_name.find(name);
    if (it == by_name.end()) throw std::invalid_argument("[interpret] no value %" + name);
    found.push_back(it->second);
  }
  return found;
}

Arrays interpret_graph(
    const Graph& graph,
    const Arrays& inputs,
    const Captured* captured,
    const std::vector<std::string>& wanted,
    uint64_t seed) {
  Interpretation run(graph, captured, seed);
  run.run(inputs);
  Arrays results;
  for (auto value : wanted_values(graph, wanted))
    results.push_back(run.at(value));
  return results;
}

Precision precision_of(const std::string& name) {
  if (name == "oracle") return Precision::oracle;
  if (name == "exact") return Precision::exact;
  throw std::invalid_argument("precision is \"oracle\" or \"exact\", not \"" + name + "\"");
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (auto value : values)
    names.push_back(graph.values[value].name);
  return names;
}

nb::list regions_of(const Program& program) {
  nb::list rows;
  for (const auto& outcome : program.outcomes()) {
    nb::dict row;
    row["kind"] = std::string(name(outcome.region.kind));
    row["inputs"] = names_of(program.graph(), outcome.region.inputs);
    row["outputs"] = names_of(program.graph(), outcome.region.outputs);
    row["lowered"] = !outcome.signature.empty();
    row["kernel"] = outcome.signature.empty() ? "" : print(outcome.kernel);
    row["signature"] = outcome.signature;
    row["reason"] = outcome.reason;
    row["rejected"] = outcome.rejected;
    row["provenance"] = outcome.winner.provenance;
    rows.append(row);
  }
  return rows;
}

// Per value: whether it may differ between honest implementations.
std::vector<bool> of_values(
    std::vector<bool> (*dependent)(const Graph&),
    const std::string& text,
    const std::vector<std::string>& names) {
  Graph graph = parsed(parse_graph(text), text);
  auto depends = dependent(graph);
  std::vector<bool> found;
  for (auto value : wanted_values(graph, names))
    found.push_back(depends[value]);
  return found;
}

// The gate's rule for a kernel's outputs on given inputs. `theirs`: MLX's.
std::string judge_outputs(
    const std::string& text, const Arrays& inputs, const Arrays& outputs, const Arrays& theirs) {
  InputFamily family{"given", parsed(parse_kernel(text), text), tensors_of(inputs)};
  References references;
  auto oracle = run_reference(family.kernel, family.inputs, Precision::oracle);
  if (!oracle) throw std::invalid_argument("[reference] " + format(oracle.errors()));
  references.oracle = std::move(*oracle);
  references.eager = tensors_of(theirs);
  auto exact = run_reference(family.kernel, family.inputs, Precision::exact);
  if (!exact) throw std::invalid_argument("[reference] " + format(exact.errors()));
  references.exact = std::move(*exact);
  return judge(family, references, tensors_of(outputs)).failure;
}

}  // namespace

Stages::Stages(
    nb::callable function,
    Arrays arguments,
    const std::string& region_code,
    size_t schedule,
    bool gate_by_cost,
    const std::string& numerics)
    : arguments_(std::move(arguments)) {
  if (region_code != "raised" && region_code != "untimed")
    throw std::invalid_argument("region_code is \"raised\" or \"untimed\", not \"" + region_code + "\"");
  CompileOptions options;
  options.fuse.gate_by_cost = gate_by_cost;
  options.region_code = region_code == "raised" ? RegionCode::raised : RegionCode::untimed;
  options.schedule = schedule;
  options.lower = lower_options_of(numerics);
  options.strict = true;
  auto traced = array_function(std::move(function));
  nb::gil_scoped_release released;
  program_ = Program::build(traced, arguments_, options);
}

// Captured arrays come in another order in the canonical graph; inputs keep their names.
Arrays Stages::inputs_of(const Graph& graph) const {
  Arrays all = arguments_, found;
  const auto& constants = program_->captured().constants;
  all.insert(all.end(), constants.begin(), constants.end());
  const auto& captured = program_->captured().graph;
  std::unordered_map<std::string, size_t> by_name;
  for (size_t i = 0; i < captured.inputs.size(); ++i)
    by_name[captured.values[captured.inputs[i].value].name] = i;
  for (const auto& input : graph.inputs) {
    auto it = by_name.find(graph.values[input.value].name);
    if (it == by_name.end())
      throw std::invalid_argument("[interpret] no input %" + graph.values[input.value].name);
    found.push_back(all[it->second]);
  }
  return found;
}

Arrays Stages::interpret(
    const std::string& text, const std::vector<std::string>& wanted, uint64_t seed) const {
  Graph graph = parsed(parse_graph(text), text);
  return interpret_graph(graph, inputs_of(graph), &program_->captured(), wanted, seed);
}

Arrays Stages::run_region(size_t region, const Arrays& inputs) const {
  const auto& executable = program_->executables().at(region);
  if (!executable) throw std::invalid_argument("[stages] nothing of ours runs the region");
  return dispatch(executable, inputs);
}

void add_stages(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Stages>(module, "Stages", "Every stage of a function on given arguments, for tests.")
      .def(
          nb::init<nb::callable, Arrays, const std::string&, size_t, bool, const std::string&>(),
          "function"_a,
          "arguments"_a,
          "region_code"_a = "raised",
          "schedule"_a = 0,
          "gate_by_cost"_a = false,
          "numerics"_a = "mlx")
      .def_prop_ro("captured", [](const Stages& s) { return print(s.program().captured().graph); })
      .def_prop_ro("canonical", [](const Stages& s) { return print(s.program().graph()); })
      .def_prop_ro("plan", [](const Stages& s) { return print(s.program().graph(), s.program().plan()); })
      .def_prop_ro("regions", [](const Stages& s) { return regions_of(s.program()); })
      .def(
          "inputs_of",
          [](const Stages& s, const std::string& text) {
            return s.inputs_of(parsed(parse_graph(text), text));
          },
          "text"_a)
      .def("interpret", &Stages::interpret, "text"_a, "wanted"_a = std::vector<std::string>(), "seed"_a = 0)
      .def("call", &Stages::call)
      .def("run_region", &Stages::run_region, "region"_a, "inputs"_a);
  module.def(
      "interpret",
      [](const std::string& text, const Arrays& inputs, uint64_t seed) {
        return interpret_graph(parsed(parse_graph(text), text), inputs, nullptr, {}, seed);
      },
      "text"_a,
      "inputs"_a,
      "seed"_a = 0,
      "Outputs of a GraphIR text without opaque nodes, by MLX's operations; perturbed unless the seed is 0.");
  module.def(
      "raise_kernel",
      [](const std::string& text) { return print(raise(parsed(parse_kernel(text), text))); },
      "text"_a,
      "The GraphIR text of a KernelIR text.");
  module.def(
      "python_text",
      [](const std::string& text) {
        Graph graph = parsed(parse_graph(text), text);
        if (auto status = check_mlx_python(graph); !status)
          throw std::invalid_argument(format(status.errors(), text));
        return to_mlx_python(graph);
      },
      "text"_a,
      "The Python of a GraphIR text: straight-line calls of mlx.core.");
  module.def(
      "run_reference",
      [](const std::string& text, const Arrays& inputs, const std::string& precision) {
        Graph graph = parsed(parse_graph(text), text);
        return arrays_of(run_reference(graph, tensors_of(inputs), precision_of(precision)));
      },
      "text"_a,
      "inputs"_a,
      "precision"_a,
      "Outputs of a GraphIR text by the reference executor: \"oracle\" in double, \"exact\" in each value's "
      "dtype.");
  for (auto [name, dependent] :
       {std::pair("rounding_dependent", &rounding_dependent),
        std::pair("zero_sign_dependent", &zero_sign_dependent)}) {
    module.def(
        name,
        [dependent = dependent](const std::string& text, const std::vector<std::string>& wanted) {
          return of_values(dependent, text, wanted);
        },
        "text"_a,
        "wanted"_a = std::vector<std::string>());
  }
  module.def(
      "judge",
      &judge_outputs,
      "kernel"_a,
      "inputs"_a,
      "outputs"_a,
      "theirs"_a,
      "The gate's verdict on outputs of a KernelIR text: empty, or the first element that is wrong.");
}

}  // namespace autoperfect::python

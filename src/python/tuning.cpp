#include "python/tuning.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ir/kernel_text.h"
#include "pipeline/tune_kernels.h"
#include "python/inspect.h"

namespace autoperfect::python {

namespace {

template <class T>
void read(const nb::dict& request, const char* name, T& value) {
  if (!request.contains(name)) return;
  try {
    value = nb::cast<T>(request[name]);
  } catch (const std::bad_cast&) {
    auto given = nb::cast<std::string>(nb::repr(request[name]));
    constexpr size_t longest = 60;
    if (given.size() > longest) given = given.substr(0, longest) + "...";
    throw nb::type_error(("[tune] " + std::string(name) + " cannot be " + given + ".").c_str());
  }
}

// KeyboardInterrupt leaves the loop as Python raised it.
void check_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

nb::list families_of(const Attempt& attempt) {
  nb::list rows;
  for (const auto& family : attempt.families) {
    nb::dict row;
    row["family"] = family.family;
    row["passed"] = family.passed;
    row["worst_ulp"] = family.worst_ulp;
    row["eager_ulp"] = family.eager_ulp;
    row["failure"] = family.failure;
    rows.append(row);
  }
  return rows;
}

nb::dict attempt_dict(const Attempt& attempt) {
  nb::dict row, stages;
  row["name"] = attempt.name;
  row["round"] = attempt.round;
  row["variant"] = attempt.variant;
  row["repair"] = attempt.repair;
  row["language"] = attempt.language;
  row["stage"] = attempt.stage;
  row["admitted"] = attempt.admitted;
  row["won"] = attempt.won;
  row["reason"] = attempt.reason;
  row["isolation"] = attempt.isolation;
  row["arms"] = attempt.arms;
  row["seconds"] = attempt.seconds;
  row["built_in_seconds"] = attempt.built_in_seconds;
  stages["ask"] = attempt.ask_seconds;
  stages["check"] = attempt.check_seconds;
  stages["compile"] = attempt.compile_seconds;
  stages["gate"] = attempt.gate_seconds;
  row["stages"] = stages;
  row["families"] = families_of(attempt);
  return row;
}

nb::list tune_texts(const std::vector<std::string>& texts, const nb::dict& request) {
  std::vector<Kernel> kernels;
  for (const auto& text : texts) {
    auto kernel = parse_kernel(text);
    if (!kernel) throw std::invalid_argument("[tune] " + format(kernel.errors(), text));
    kernels.push_back(std::move(*kernel));
  }
  auto options = tune_options_of(request);
  std::vector<RegionOutcome> outcomes;
  {
    nb::gil_scoped_release released;
    outcomes = tune_kernels(kernels, options);
  }
  nb::list rows;
  for (const auto& outcome : outcomes) {
    nb::dict row = outcome_dict(outcome);
    row["text"] = explain(outcome, *target_of(kernel_device()));
    row["evidence"] = outcome.evidence;
    row["source"] = outcome.winner.source;
    rows.append(row);
  }
  return rows;
}

}  // namespace

TuneOptions tune_options_of(const nb::dict& request) {
  TuneRequest asked;
  read(request, "model", asked.model);
  read(request, "settings", asked.settings);
  read(request, "language", asked.language);
  read(request, "variants", asked.variants);
  read(request, "repairs", asked.repairs);
  read(request, "rounds", asked.rounds);
  read(request, "budget", asked.budget);
  read(request, "seed", asked.seed);
  read(request, "timed", asked.timed);
  read(request, "schedules", asked.schedules);
  read(request, "target", asked.target);
  read(request, "isolation", asked.isolation);
  read(request, "progress", asked.progress);
  std::vector<std::pair<std::string, std::string>> drafts;
  read(request, "drafts", drafts);
  for (auto& [language, source] : drafts)
    asked.drafts.push_back({language, source});
  auto options = tune_options(asked);
  if (!options) throw std::invalid_argument("[tune] " + format(options.errors()));
  options->poll = check_signals;
  return std::move(*options);
}

nb::list attempts_of(const RegionOutcome& outcome) {
  nb::list rows;
  for (const auto& attempt : outcome.attempts)
    rows.append(attempt_dict(attempt));
  return rows;
}

void add_tuning(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "tune_kernels",
      &tune_texts,
      "kernels"_a,
      "request"_a,
      "What became of each of these KernelIR texts, as dicts; see autoperfect.tune for the request.");
}

}  // namespace autoperfect::python

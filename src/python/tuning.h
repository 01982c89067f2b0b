// Faces of tuning and of the gate: requests as Python gives them, Ctrl-C, and what became of each candidate.
#pragma once

#include <nanobind/nanobind.h>

#include "pipeline/pipeline.h"
#include "pipeline/tune_request.h"
#include "python/trees.h"

namespace autoperfect::python {

// Keys as the fields of TuneRequest; `drafts` is a list of (language, source). Throws std::invalid_argument
// for what tune_options() refuses.
TuneOptions tune_options_of(const nb::dict& request);

nb::list attempts_of(const RegionOutcome& outcome);

void add_tuning(nb::module_& module);

}  // namespace autoperfect::python

// What capture makes of a function, for tests and for the curious: the text of its graph, and its results
// when each node runs by its own primitive, and by its op and attributes alone. No kernels.
#pragma once

#include <string>

#include "capture/capture.h"
#include "python/python_array.h"

namespace autoperfect::python {

struct Replayed {
  std::string graph;
  Arrays by_primitive, by_op;
};

// A Python function of arrays that returns a tree of arrays, as C++ calls it: without the GIL.
ArrayFunction array_function(nb::callable function);

// `function` takes the arrays and returns a tree of arrays.
Replayed replay_captured(nb::callable function, const Arrays& arguments);

}  // namespace autoperfect::python

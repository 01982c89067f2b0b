// Text of a plan: the graph, then its regions by the names of their values. What `autoperfect fuse` prints
// and `autoperfect lower` reads.
#pragma once

#include <string>
#include <utility>

#include "fuse/fuse.h"
#include "ir/graph_text.h"

namespace autoperfect {

std::string print(const Graph& graph, const Plan& plan);

// Predictions are not part of the text; they are made again from the graph when somebody needs them.
Result<std::pair<Graph, Plan>> parse_plan(const std::string& text);

}  // namespace autoperfect

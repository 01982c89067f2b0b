// Text of GraphIR: one grammar, two printers (named for people, canonical for hashing). Exact round trip:
// parse(print(g)) prints the same, and names survive the named form.
#pragma once

#include <string>

#include "ir/graph.h"

namespace autoperfect {

enum class Names { kept, canonical };  // canonical: values are %0, %1... in order, the graph is @_

std::string print(const Graph& graph, Names names = Names::kept);

// Parses and verifies. On failure the result holds every error found, each with line, column and a hint.
Result<Graph> parse_graph(const std::string& text);

}  // namespace autoperfect

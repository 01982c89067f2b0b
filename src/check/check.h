// From a draft to a candidate that may be compiled: lexed and parsed, never grepped, and never run. What is
// not on the list of the language (generate/language/) is an error; all errors of a draft are found at once,
// each with its line, the reason and what to write instead. Knows nothing of speed or of right results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/target.h"
#include "generate/candidate.h"
#include "generate/language/language.h"
#include "ir/graph.h"
#include "support/result.h"

namespace autoperfect {

struct Checked {
  Candidate candidate;            // ready to compile: the draft behind our names for its buffers and sizes
  std::string counted_source;     // the same storing 1 to reached[k] at arm k; empty for `mlx`
  std::vector<Arm> arms;          // which no constant decides: the gate must see each taken
  std::vector<double> constants;  // numbers that data is compared with
  std::optional<Graph> graph;     // language mlx: what the draft says, with the kernel's inputs and outputs
  int first_line = 0;             // line of candidate.source = line of the draft + first_line
};

// Names in drafts and in diagnostics are those of with_neutral_names(). In the counted source both functions
// have one parameter more, the last: `unsigned char* reached`.
Result<Checked> check(const Kernel& kernel, const Draft& draft, const Target& target);

}  // namespace autoperfect

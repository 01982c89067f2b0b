// The draft with a counter at each of its arms: text put between its tokens, so that lines stay what they are
// and the code computes the same.
#pragma once

#include <string>
#include <vector>

#include "check/check.h"
#include "check/flow.h"

namespace autoperfect::code {

struct Insertion {
  size_t offset = 0;  // in the source
  std::string text;
};

// Adds to both, in an order that inserting at equal offsets keeps.
void add_arms(
    const Program& program,
    const Vocabulary& vocabulary,
    const Flow& flow,
    std::string_view source,
    std::vector<Arm>& arms,
    std::vector<Insertion>& insertions);

std::string with_insertions(std::string_view source, std::vector<Insertion> insertions);

// Numbers that data is compared with, each once, ascending. More than most_constants are too many: the gate
// makes inputs around each.
constexpr size_t most_constants = 64;
void add_constants(
    const Program& program, const Vocabulary& vocabulary, const Flow& flow, std::vector<double>& constants);

}  // namespace autoperfect::code

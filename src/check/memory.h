// What a draft may do to memory, as far as its text shows: inputs are not written, outputs are, const stays,
// and pointers come from pointers. The compiler and the gate see the rest.
#pragma once

#include <set>
#include <string_view>

#include "check/abi.h"
#include "check/flow.h"
#include "check/parser.h"

namespace autoperfect::code {

// Outputs that the program stores to are added to `written`.
void check_memory(
    const Program& program,
    const Vocabulary& vocabulary,
    const Abi& abi,
    const Flow& flow,
    Errors& errors,
    std::set<std::string>& written);

}  // namespace autoperfect::code

// The first line of a draft, `// launch: parallel=i,j grain=16 scratch=4*n_k`, and `// guard: n_i % 16 == 0`.
#pragma once

#include <optional>

#include "check/abi.h"
#include "check/lexer.h"
#include "generate/candidate.h"

namespace autoperfect::code {

// What is missing, unknown or beyond what a target can do is reported; nothing when the line cannot be used.
std::optional<Launch> read_launch(
    const std::vector<Directive>& directives, const Abi& abi, std::string_view language, Errors& errors);
Guards read_guards(
    const std::vector<Directive>& directives, const Abi& abi, std::string_view language, Errors& errors);

}  // namespace autoperfect::code

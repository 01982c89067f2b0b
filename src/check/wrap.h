// The text we put around a draft: the signature, and its buffers and sizes by the names the draft knows.
#pragma once

#include <string>

#include "check/abi.h"
#include "generate/candidate.h"

namespace autoperfect::code {

// One line each, so that lines of the draft stay countable. `counted`: with the parameter `reached`.
std::string head_of(
    const Abi& abi, std::string_view language, Part part, const Candidate& candidate, bool counted);
std::string_view tail_of(std::string_view language);

}  // namespace autoperfect::code

// What a compiler prints, line by line, as Diagnostics of the candidate.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace autoperfect {

constexpr size_t compiler_messages_kept = 20;

// `parse` reads one line; false: it is no error in the candidate's text.
inline std::vector<Diagnostic> read_compiler_messages(
    const std::string& log, bool (*parse)(std::string_view line, Diagnostic& diagnostic)) {
  std::vector<Diagnostic> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line) && found.size() < compiler_messages_kept;) {
    Diagnostic diagnostic;
    if (parse(line, diagnostic)) found.push_back(std::move(diagnostic));
  }
  return found;
}

}  // namespace autoperfect

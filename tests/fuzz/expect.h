// What a fuzz target holds true: libFuzzer keeps the text of a run that ends here.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace autoperfect::fuzzing {

inline void expect(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s does not hold for\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace autoperfect::fuzzing

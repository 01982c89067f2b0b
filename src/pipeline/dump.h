// AUTOPERFECT_DUMP=<directory>: the text of each stage, numbered in the order it was made.
#pragma once

#include <string>

namespace autoperfect {

void dump(const std::string& stage, const std::string& text);

}  // namespace autoperfect

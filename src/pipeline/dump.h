// AUTOPERFECT_DUMP=<directory>: the text of each stage, numbered in the order it was made.
#pragma once

#include <string>

#include "support/options.h"

namespace autoperfect {

void write_dump(const std::string& stage, const std::string& text);

// `text` is only asked for when there is a directory: printing a large graph takes as long as a stage.
template <class Text>
void dump(const std::string& stage, Text text) {
  if (!environment().dump.empty()) write_dump(stage, text());
}

}  // namespace autoperfect

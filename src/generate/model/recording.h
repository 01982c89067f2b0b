// Recorded answers: a folder with one JSON file a question. What the tests use in place of a model; never
// edited.
#pragma once

#include "generate/model/code_model.h"

namespace autoperfect {

struct Recording {
  std::string prompt;
  int attempt = 0;
  Reply reply;
  std::string date;  // as whoever recorded it says; may be empty
};

// "<hash of the prompt>.json", and "<hash>.<attempt>.json" for later attempts.
std::string recording_name(const std::string& prompt, int attempt);

std::string print(const Recording& recording);
Result<Recording> parse_recording(const std::string& text);

}  // namespace autoperfect

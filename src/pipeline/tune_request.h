// What the command line and Python ask of tuning, by words and numbers, as TuneOptions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tune/tune.h"

namespace autoperfect {

struct TuneRequest {
  std::optional<std::string>
      model;  // see ModelOptions::spec; empty: the environment's; none: nobody is asked
  std::map<std::string, std::string> settings;  // of the model, see model_options()
  std::vector<Draft> drafts;                    // without a language: in the default device's own
  std::string language;                         // empty: the default device's own
  int variants = 4, repairs = 2, rounds = 1;
  double budget = 0;  // seconds; 0: no limit
  uint64_t seed = 0;
  bool timed = true;
  bool schedules = true;
  std::string target;     // name of a fixed description; empty: this machine
  std::string isolation;  // the least level; empty: whatever there is
  bool progress = false;
};

// Errors are those of the caller: unknown names, numbers out of range, a model that cannot be opened.
Result<TuneOptions> tune_options(const TuneRequest& request);

}  // namespace autoperfect

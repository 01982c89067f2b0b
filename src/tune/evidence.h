// The record of a decision, JSON in the cache, that explanations and reports read.
#pragma once

#include <string>
#include <vector>

#include "tune/tune.h"

namespace autoperfect {

struct Record {
  std::string reason;
  std::vector<Timing> timings;
  int64_t bytes = 0;                 // read and written by the call that was timed
  const Verdict* verdict = nullptr;  // of the fastest candidate
};

std::string evidence_text(const Record& record);

// The reason and the timings of `decision.evidence`; what is missing or damaged is left out.
void read_evidence(Decision& decision);

}  // namespace autoperfect

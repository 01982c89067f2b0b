// The record of a decision, JSON in the cache, that explanations and reports read.
#pragma once

#include <string>

#include "tune/life.h"

namespace autoperfect {

// Reason, timings, the fastest candidate's examination and every attempt. `timed` false: without what a clock
// said, so that the same run gives the same text.
std::string evidence_text(const Life& life, bool timed);

// Of a decision by time alone, for read_evidence().
std::string evidence_text(const std::string& reason, const std::vector<Timing>& timings);

// Those that are settled and those still in the running, by round, variant and repair.
std::vector<Attempt> attempts_of(const Life& life);

// Reason, timings and attempts of `decision.evidence`; what is missing or damaged is left out.
void read_evidence(Decision& decision);

}  // namespace autoperfect

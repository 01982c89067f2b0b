// The admitted candidates of a region against MLX and each other: timed (or estimated), chosen, stored.
#pragma once

#include "tune/life.h"

namespace autoperfect {

// May be called again when more were admitted: the best so far, which is then the first of life.admitted, and
// the best schedule take part each time, the others once. Nothing else may run meanwhile.
void compete(Life& life, const Target& target, const TuneOptions& options);

// For when nothing new was admitted: the decision stands, its record gains what was tried.
void note_attempts(Life& life, const TuneOptions& options);

}  // namespace autoperfect

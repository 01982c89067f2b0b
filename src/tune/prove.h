// A built candidate before the gate: seeds, what the gate needs to know of it, and what its author is told.
#pragma once

#include <optional>

#include "tune/build.h"

namespace autoperfect {

// Nothing: it is admitted. Calls MLX: on the thread of tune() only.
std::optional<Failure> prove(
    Contestant& contestant, Life& life, const Target& target, const TuneOptions& options);

}  // namespace autoperfect

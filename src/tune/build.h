// The stages before the gate: a draft is checked, compiled and loaded; a schedule's source is compiled and
// loaded. Needs no MLX and runs on any thread.
#pragma once

#include <optional>
#include <string>

#include "tune/life.h"

namespace autoperfect {

// Why a candidate went no further: `evidence` is what its author is told, `reason` what explanations say.
struct Failure {
  std::string stage;
  std::string evidence;
  bool repairable = true;
  bool pending = false;  // the answer may still come: another run goes on from there
};

// Nothing: it is loaded and ready for the gate. `kernel` is the region's, `target` that of this machine.
std::optional<Failure> build(Contestant& contestant, const Kernel& kernel, const Target& target);

}  // namespace autoperfect

// The stages before the gate: a draft is checked, compiled and loaded; a schedule's source is compiled and
// loaded. Needs no MLX and runs on any thread.
#pragma once

#include <optional>
#include <string>

#include "compile/cpu/compile.h"
#include "tune/life.h"

namespace autoperfect {

// Why a candidate went no further.
struct Failure {
  std::string stage;
  std::string evidence;  // what its author is told
  bool repairable = true;
  bool pending = false;     // the answer may still come: another run goes on from there
  std::string places = {};  // lines of the program, which no author sees

  // What explanations say.
  std::string reason() const {
    return places.empty() ? evidence : evidence + "  computed at " + places + "\n";
  }
};

struct CompiledSource {
  std::string binary;  // a shared object, or a cubin
  std::string log;     // what the compiler of cubins said
};

// trusted: built in; what others wrote is compiled shut in.
Result<CompiledSource> compile_source(
    const std::string& source, const Target& target, Build build, bool trusted);

// Nothing: it is loaded and ready for the gate. `kernel` is the region's, `target` that of this machine.
std::optional<Failure> build(Contestant& contestant, const Kernel& kernel, const Target& target);

}  // namespace autoperfect

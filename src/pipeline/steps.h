// A plan as a list of steps over array slots: kernels where they won, MLX's own primitives everywhere else.
// Made once per program; a call only walks it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "canonicalize/canonicalize.h"
#include "capture/capture.h"
#include "dispatch/dispatch.h"
#include "fuse/fuse.h"

namespace autoperfect {

struct Step {
  enum class Kind : uint8_t { kernel, replay, apply };
  Kind kind = Kind::replay;
  NodeId node = -1;  // replay: of the captured graph; apply: of the canonical graph
  std::shared_ptr<const Executable> executable;
  std::vector<int> inputs, outputs;  // slots; output -1: nobody reads it
  std::vector<int> last_uses;        // slots that are free after this step
};

struct Steps {
  int slots = 0;
  std::vector<Step> steps;
  std::vector<int> given;  // slot of each given value, -1 when it is not needed
  std::vector<std::pair<int, mlx::core::array>> constants;
  std::vector<int> wanted;  // slots of the results
};

// A region that runs as one kernel.
struct KernelChoice {
  const Region* region = nullptr;
  std::shared_ptr<const Executable> executable;
};

// The first value of the captured graph that became each canonical one, or -1: its producer reads only
// earlier ones, so replaying never goes in circles. Made once, for all lists of steps of a program.
std::vector<ValueId> find_sources(const Canonical& canonical);

// Steps that compute the `wanted` values of the canonical graph from the `given` ones. Values the chosen
// kernels do not make are replayed from the captured program where it has them, so that what MLX keeps whole
// stays whole. An error when that needs more than is given: a captured op may be lowered to several that lie
// in different regions.
Result<Steps> make_steps(
    const Captured& captured,
    const Canonical& canonical,
    const std::vector<ValueId>& sources,
    const std::vector<KernelChoice>& kernels,
    const std::vector<ValueId>& given,
    const std::vector<ValueId>& wanted);

std::vector<mlx::core::array> run_steps(
    const Steps& steps,
    const Captured& captured,
    const Graph& canonical,
    const std::vector<mlx::core::array>& given,
    mlx::core::Stream stream);

}  // namespace autoperfect

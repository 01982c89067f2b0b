// A program as a whole, on a GPU. Its regions, each measured alone, say little of it there: work overlaps,
// mx.compile fuses past the borders of regions, and a program of few calls is bound by what they cost the
// host. So each way to run it is timed once, as programs call it, and the fastest runs: our kernels, unless
// another is clearly faster.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.h"
#include "cost/target.h"
#include "ir/graph.h"
#include "mlx/utils.h"
#include "pipeline/pipeline.h"

namespace autoperfect {

// Functions of the program's arguments and constants, each made when it is first asked for: where the
// decision is known, one is.
class ProgramWays {
 public:
  using Maker = std::function<ArrayFunction()>;
  // Without kernels of ours `ours` is empty.
  ProgramWays(Maker ours, Maker compiled, Maker eager)
      : makers_{std::move(ours), std::move(compiled), std::move(eager)} {}

  bool has(Way way) const { return makers_[static_cast<size_t>(way)] != nullptr; }
  const ArrayFunction& of(Way way) const;

 private:
  std::array<Maker, 3> makers_;  // in the order of Way
  mutable std::array<ArrayFunction, 3> made_;
};

// The text of all that decides how fast a way is: the program as captured, the kernels that won, target, MLX.
std::string whole_key(
    const Graph& captured,
    const std::vector<RegionOutcome>& outcomes,
    const std::vector<AttentionOutcome>& attentions,
    const Target& target);

// Whether the program may run for no other end than to be timed: not when others take part in it, nor inside
// a transformation.
bool may_be_timed(const Graph& captured, const std::vector<mlx::core::array>& arguments);

// Whether mx.compile could make one kernel of several operations, views aside.
bool has_something_to_fuse(const Graph& captured);

// From the cache, or measured on these arrays, which are evaluated.
WholeDecision decide_whole(
    const std::string& key, const ProgramWays& ways, const std::vector<mlx::core::array>& arrays);

// A pure function of the times: ours, else mx.compile, else eager MLX, unless a later one is clearly faster
// than all before.
Way fastest_way(const std::vector<Timing>& timings);

// What decides: where others are found to be faster than our kernels, which won one by one, a second
// measurement; what else the host did at the time seldom comes twice.
std::vector<Timing> confirmed(const std::function<std::vector<Timing>()>& measure);

std::string_view name(Way way);

}  // namespace autoperfect

// Attention that a program wrote out, as a call of MLX's library: proved against what is written, used where
// it is faster, and decided once for all processes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/dispatch.h"
#include "fuse/fuse.h"
#include "tune/tune.h"

namespace autoperfect {

struct CompileOptions;

constexpr const char* library_attention_name = "fast.scaled_dot_product_attention";

// What became of one match.
struct AttentionOutcome {
  AttentionMatch match;
  bool used = false;
  bool from_cache = false;
  std::string reason;  // why it is used, or why not
  std::string proof;   // what was tried, and the worst error; empty: nothing was admitted
  std::vector<std::string>
      rejected;  // ways of calling it that were not admitted, each with the first failure
  std::vector<Timing> timings;
  std::shared_ptr<const Executable> executable;  // null: not used
  Region region;                                 // what the executable runs: nodes, inputs and outputs
};

// Decides, from the cache or by proving and timing. What is around the match is not looked at. `plain` is
// what MLX does there now: what the call must be as right as at full size, and faster than; none where that
// is the nodes one by one.
AttentionOutcome decide_attention(
    const Graph& graph,
    const AttentionMatch& match,
    const Target& target,
    const CompileOptions& options,
    mlx::core::Stream stream,
    const std::function<std::optional<ArrayFunction>(const Region&)>& plain);

std::string describe(const Graph& graph, const AttentionOutcome& outcome);

}  // namespace autoperfect

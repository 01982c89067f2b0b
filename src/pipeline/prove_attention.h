// The proof of a call of MLX's attention beside what a program wrote: both computed by MLX, judged by
// gate/attention_proof.h at small sizes, and once more at full size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "lower/attention_call.h"

namespace autoperfect {

struct AttentionProof {
  std::optional<size_t> form;         // of the call's ways, the first that is as right as what is written
  std::string text;                   // what was tried, and the worst error
  std::string reason;                 // why no form is
  std::vector<std::string> rejected;  // one a form, with the first failure
};

// `written` is what MLX runs for the match, `inputs` arrays of its sizes. Throws where MLX fails.
AttentionProof prove_attention(
    const Graph& graph,
    const AttentionMatch& match,
    const AttentionCall& call,
    const ArrayFunction& written,
    const std::vector<mlx::core::array>& inputs,
    uint64_t seed);

// Arrays of the match's sizes, that lie in memory as the program's do; scores of a spread of 1.
std::vector<mlx::core::array> sample_inputs(
    const Graph& graph, const AttentionMatch& match, const AttentionCall& call);

// The axes of a view that an input of the match is; none: it is no view.
std::vector<int64_t> axes_of_view(const Graph& graph, ValueId v);

}  // namespace autoperfect

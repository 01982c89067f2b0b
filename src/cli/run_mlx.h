// A graph on tensors, with MLX's own operations.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "reference/tensor.h"

namespace autoperfect::cli {

// On the CPU, so that the answer is the same everywhere. Ops that need their primitive are refused.
Result<std::vector<Tensor>> run_mlx(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace autoperfect::cli

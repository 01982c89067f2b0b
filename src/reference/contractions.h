// Sums of products in a graph, in all of MLX's forms.
#pragma once

#include <optional>
#include <vector>

#include "reference/array.h"

namespace autoperfect {

// Nothing when there is no reference for the op. `operands` in the node's order.
std::optional<Result<Array>> run_contraction(
    const Node& node,
    const std::vector<const Array*>& operands,
    const TensorType& result,
    Precision precision);

}  // namespace autoperfect

// Ops that read and write where attributes or data say: gathers, scatters, updates of parts, padding, views
// of bytes, sorting and searching.
#pragma once

#include <optional>
#include <vector>

#include "reference/array.h"

namespace autoperfect {

// Nothing when `node.op` is none of them. An index that is data and lies outside is an error: MLX leaves it
// undefined. A negative one counts from the end.
using Operands = std::vector<const Array*>;
std::optional<Result<Array>> run_indexing(
    const Node& node, const Operands& operands, const TensorType& result, Precision precision);

// What sorting and searching ask: NaN comes last.
bool sorts_before(Dtype dtype, Scalar a, Scalar b);

}  // namespace autoperfect

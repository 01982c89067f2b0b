// Composite ops of a graph, from their definitions: with MLX eager's own roundings in `exact`, with none in
// `oracle`.
#pragma once

#include "reference/array.h"

namespace autoperfect {

Array run_composite(const Node& node, const Array& operand, const TensorType& result, Precision precision);

}  // namespace autoperfect

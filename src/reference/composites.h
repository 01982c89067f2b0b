// Composite ops of a graph, from their definitions: with MLX eager's own roundings in `exact`, with none in
// `oracle`.
#pragma once

#include "reference/array.h"

namespace autoperfect {

// Whether run_composite() knows it; others are judged in the form canonicalize() gives them.
bool is_known_composite(Op op);

Array run_composite(const Node& node, const Array& operand, const TensorType& result, Precision precision);

}  // namespace autoperfect

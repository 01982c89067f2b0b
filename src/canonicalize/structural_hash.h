// What a value is, as a number: equal for equal computations, whatever their names, their place in the graph
// or the process. It orders and finds nodes; whoever merges two compares them as well.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace autoperfect {

uint64_t mix(uint64_t hash, uint64_t value);
uint64_t hash_of(std::string_view text);
uint64_t hash_of(const TensorType& type);
uint64_t hash_of(const Attributes& attributes);

// Bit for bit: -0.0 is not 0.0, and a NaN is a NaN.
bool same_bits(const AttributeValue& a, const AttributeValue& b);
bool same_bits(const Attributes& a, const Attributes& b);

}  // namespace autoperfect

// Which attributes each op has, of which type. One table for both IRs, the parser and the verifier.
#pragma once

#include <string>
#include <vector>

#include "ir/attribute.h"
#include "ir/op.h"
#include "support/result.h"

namespace autoperfect {

// Missing, unknown and ill-typed attributes of a GraphIR node.
std::vector<Diagnostic> check_attributes(Op op, const Attributes& attributes);

// Attributes that repeat what the type after the colon says. The text leaves them out, the parser fills them
// in.
enum class FromType : uint8_t { none = 0, dtype = 1, shape = 2, size = 4 };
constexpr FromType operator|(FromType a, FromType b) {
  return static_cast<FromType>(static_cast<int>(a) | static_cast<int>(b));
}
constexpr bool has(FromType set, FromType one) {
  return (static_cast<int>(set) & static_cast<int>(one)) != 0;
}
FromType attributes_from_type(Op op);

}  // namespace autoperfect

// An elementwise op over a whole iteration space.
#pragma once

#include <vector>

#include "reference/array.h"

namespace autoperfect {

// Where an operand's element comes from at a position of the space: an array along a walk, one scalar, or the
// position along one axis.
struct ElementSource {
  const Array* array = nullptr;
  Walk walk;
  Scalar scalar;
  int axis = -1;             // of the iteration space
  Dtype dtype = Dtype::f32;  // of a scalar or a position along an axis
  Scalar at(const std::vector<int64_t>& position) const;
};

// Fills `out`, whose shape is the space, in row-major order.
void elementwise(const ScalarOp& op, const std::vector<ElementSource>& operands, Array& out);

}  // namespace autoperfect

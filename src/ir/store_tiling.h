// Whether the values stored to one output cover it: each element by exactly one of them. Decided for maps
// that take a box of axes onto a box of the buffer, or of the buffer with dimensions split (`%y[4*i+j]` with
// j < 3 is three columns of a split dimension), with any stride in each of its dimensions.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

// A store: its map, in bounds, and the axes its value varies over.
struct StorePart {
  const std::vector<Affine>* map = nullptr;
  const std::vector<AxisId>* over = nullptr;
};

struct Tiling {
  enum class Verdict : uint8_t { tiles, unproven, overlaps, incomplete };
  Verdict verdict = Verdict::tiles;
  size_t part = 0, other = 0;  // which part is unproven; which two overlap
  int64_t stored = 0;          // elements, when no two parts overlap
};

Tiling check_tiling(const std::vector<StorePart>& parts, const std::vector<Axis>& axes, const Shape& shape);

}  // namespace autoperfect

// Whether the values stored to one output cover it: each element by exactly one of them. Decided for maps
// that take a box of axes onto a box of the buffer, or of the buffer with dimensions split (`%y[4*i+j]` with
// j < 3 is three columns of a split dimension), with any stride in each of its dimensions.
#pragma once

#include <optional>
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

// One dimension of a part, split dimensions counting as several: the elements start, start + stride, ... of
// it, `count` of them, are the mixed-radix numbers with the given axes as digits, most significant first.
// Axes of size 1 have no digit.
struct Digits {
  int64_t start = 0, stride = 1, count = 1;
  std::vector<AxisId> axes;
  int64_t last() const { return start + (count - 1) * stride; }
};

// What the parts are boxes of. An axis with a negative coefficient runs through its part from the end.
struct PartLayout {
  Shape shape;                             // of the buffer, its dimensions split
  std::vector<std::vector<Digits>> parts;  // per part and dimension of that shape; strides are positive
};
// Of parts that store something. Nothing when one of them, whose number `unproven` becomes, is no box.
std::optional<PartLayout> lay_out(
    const std::vector<StorePart>& parts, const std::vector<Axis>& axes, const Shape& shape, size_t& unproven);

Tiling check_tiling(const std::vector<StorePart>& parts, const std::vector<Axis>& axes, const Shape& shape);

}  // namespace autoperfect

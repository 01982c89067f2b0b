#include "ir/affine.h"

#include <algorithm>
#include <map>

namespace autoperfect {

namespace {

// Coefficients come from a text: their products need more than 64 bits.
__extension__ typedef __int128 Wide;

}  // namespace

bool in_bounds(const Affine& affine, const std::vector<Axis>& axes, int64_t size) {
  Wide lowest = affine.offset, highest = affine.offset;
  for (auto [axis, coefficient] : affine.terms) {
    Wide last = Wide{coefficient} * (axes[axis].size - 1);
    (last < 0 ? lowest : highest) += last;
  }
  return lowest >= 0 && highest < size;
}

bool covers(
    const std::vector<Affine>& map,
    const std::vector<AxisId>& over,
    const std::vector<Axis>& axes,
    const Shape& shape) {
  // In bounds, the map is one to one exactly when its row-major offset is: sum of stride * axis.
  std::map<AxisId, Wide> strides;
  int64_t elements = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    for (auto [axis, coefficient] : map[d].terms)
      strides[axis] += Wide{coefficient} * elements;
    elements *= std::max<int64_t>(shape[d], 1);
  }
  bool buffer_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  bool box_empty = false;
  std::vector<std::pair<Wide, int64_t>> steps;
  for (auto axis : over) {
    if (!strides.count(axis)) return false;
    int64_t size = axes[axis].size;
    box_empty |= size == 0;
    if (size > 1) steps.emplace_back(strides[axis] < 0 ? -strides[axis] : strides[axis], size);
  }
  if (buffer_empty || box_empty) return buffer_empty && box_empty;
  // Arithmetic progressions tile an interval exactly when they nest: each step is the product of all smaller
  // sizes.
  std::sort(steps.begin(), steps.end());
  Wide product = 1;
  for (auto [step, size] : steps) {
    if (step != product) return false;
    product *= size;
  }
  return product == elements;
}

}  // namespace autoperfect

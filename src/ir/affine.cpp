#include "ir/affine.h"

namespace autoperfect {

namespace {

// Coefficients come from a text: their products need more than 64 bits.
__extension__ typedef __int128 Wide;

}  // namespace

bool in_bounds(const Affine& affine, const std::vector<Axis>& axes, int64_t begin, int64_t end) {
  Wide lowest = affine.offset, highest = affine.offset;
  for (auto [axis, coefficient] : affine.terms) {
    Wide last = Wide{coefficient} * (axes[axis].size - 1);
    (last < 0 ? lowest : highest) += last;
  }
  return lowest >= begin && highest < end;
}

}  // namespace autoperfect

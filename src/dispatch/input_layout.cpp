#include "dispatch/input_layout.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;

// Longer steps leave a cache line or two per element anyway: that they are numbers gains nothing.
constexpr int64_t longest_fixed = 8;

}  // namespace

bool is_strided(const mx::array& array) {
  return is_there(array) && array.size() > 0 && !array.flags().row_contiguous;
}

Layout layout_of(const mx::array& array) {
  Layout layout;
  if (array.flags().row_contiguous) return layout;
  for (size_t d = 0; d < array.ndim(); ++d) {
    int64_t size = array.shape()[d], stride = size == 1 ? 0 : array.strides()[d];
    if (stride < 0) layout.offset -= stride * (size - 1);
    layout.strides.push_back(stride > longest_fixed ? free_stride : stride);
  }
  return layout;
}

const void* pointer_for(const mx::array& array, const Buffer& buffer) {
  return array.data<char>() - buffer.layout.offset * static_cast<int64_t>(array.itemsize());
}

bool lies_as(const mx::array& array, const Buffer& buffer, mx::SmallVector<int64_t>& free) {
  bool aligned = reinterpret_cast<uintptr_t>(pointer_for(array, buffer)) % alignment_of(buffer) == 0;
  if (is_row(buffer)) return aligned && array.flags().row_contiguous;
  const auto& strides = buffer.layout.strides;
  if (strides.empty()) return false;  // `row` beyond an offset: only a kernel of a person asks for it
  bool fits = aligned;
  for (size_t d = 0; d < strides.size(); ++d) {
    int64_t stride = array.shape()[d] == 1 ? 0 : array.strides()[d];
    if (strides[d] == free_stride) {
      fits = fits && stride >= 0;
      free.push_back(stride);
    } else {
      fits = fits && (array.shape()[d] == 1 || strides[d] == stride);
    }
  }
  return fits;
}

}  // namespace autoperfect

// How the arrays of a call lie in memory, against what a kernel asks for.
#pragma once

#include <cstdint>

#include "ir/layout.h"
#include "mlx/array.h"

namespace autoperfect {

using AxisSizes = mlx::core::SmallVector<int64_t>;

// Whether its memory is there, so that it can be asked how it lies.
inline bool is_there(const mlx::core::array& array) {
  return array.status() != mlx::core::array::Status::unscheduled;
}

// Whether an array is there and not dense.
bool is_strided(const mlx::core::array& array);

// Of an array that was evaluated: `row`, or its strides. Strides of more than a few elements are free, so
// that one kernel serves rows with any gaps.
Layout layout_of(const mlx::core::array& array);

// Whether an evaluated array lies as the buffer of a kernel says. The strides that are free are appended to
// `free`. Of a dimension of size 1 the stride does not matter.
bool lies_as(const mlx::core::array& array, const Buffer& buffer, mlx::core::SmallVector<int64_t>& free);

// What the kernel gets: the buffer's offset before the first element.
const void* pointer_for(const mlx::core::array& array, const Buffer& buffer);

}  // namespace autoperfect

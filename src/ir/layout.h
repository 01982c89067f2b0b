// Where the elements of a buffer lie. `row` is row-major and dense; any other layout of an input is given by
// its strides: a transposed view, a broadcast one (stride 0), rows with padding between them, a reversed
// axis (a negative stride, with an offset so that no element lies before the pointer).
//
// What a launch tells a kernel in `dims` are the sizes of the dynamic axes, in the order of the axes, then
// the free strides, in the order of buffers and dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

inline bool is_row(const Buffer& buffer) {
  return buffer.layout.strides.empty() && buffer.layout.offset == 0;
}

struct FreeStride {
  BufferId buffer = -1;
  size_t dimension = 0;
};
std::vector<FreeStride> free_strides(const Kernel& kernel);

// The place in `dims` of a dynamic axis and of a free stride.
size_t dim_of_axis(const Kernel& kernel, AxisId axis);
size_t dim_of_stride(const Kernel& kernel, BufferId buffer, size_t dimension);

// In elements, of a buffer whose sizes and strides are all numbers.
std::vector<int64_t> strides_of(const Buffer& buffer);
// Elements from the pointer up to the last one that belongs to the buffer; 0 of an empty one. None when the
// layout reaches before its pointer, or further than a program counts.
std::optional<int64_t> span_of(const Buffer& buffer);

std::string strides_text(const std::vector<int64_t>& strides);  // strides=[1,?], as KernelIR has it

// Gives each free stride a number: one that goes `gap` beyond all that the other dimensions so far reach,
// from the last dimension to the first, or the other way.
void settle_free_strides(Buffer& buffer, int64_t gap = 0, bool first_to_last = false);

// What the pointer is a multiple of, in bytes. Temporaries begin with a cache line.
constexpr int64_t temporary_align = 64;
int64_t alignment_of(const Buffer& buffer);

}  // namespace autoperfect

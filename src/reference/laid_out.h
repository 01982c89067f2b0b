// Buffers as a kernel sees them: tensors to and from memory of a layout. The references compute with tensors,
// which are row-major and dense; whoever calls a kernel, or is handed memory, goes through here.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "reference/tensor.h"

namespace autoperfect {

using Memory = std::vector<unsigned char>;

// Sizes and strides of the buffer are numbers. What lies between the elements is `fill`. Where several
// elements share a place (a broadcast dimension), the last one stays.
Memory lay_out(const Tensor& tensor, const Buffer& buffer, unsigned char fill);

// The elements of a buffer, in order.
Tensor read_laid_out(const Memory& memory, const Buffer& buffer);

}  // namespace autoperfect

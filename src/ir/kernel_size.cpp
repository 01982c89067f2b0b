#include "ir/kernel.h"

namespace autoperfect {

Kernel with_dynamic_size(Kernel kernel, int64_t size) {
  for (auto& axis : kernel.axes)
    if (axis.dynamic) axis.size = size;
  for (auto& buffer : kernel.buffers)
    for (size_t d = 0; d < buffer.dynamic_dims.size(); ++d)
      if (buffer.dynamic_dims[d] >= 0) buffer.type.shape[d] = size;
  return kernel;
}

int64_t bytes_of_buffers(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const auto& buffer : kernel.buffers)
    bytes += buffer.type.bytes();
  return bytes;
}

}  // namespace autoperfect

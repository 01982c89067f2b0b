#include "ir/kernel.h"

namespace autoperfect {

Kernel resize(const Kernel& kernel, const std::vector<int64_t>& sizes) {
  Kernel resized = kernel;
  for (size_t a = 0; a < resized.axes.size(); ++a) {
    if (resized.axes[a].dynamic) resized.axes[a].size = sizes[a];
  }
  for (auto& buffer : resized.buffers) {
    for (size_t d = 0; d < buffer.dynamic_dims.size(); ++d) {
      if (buffer.dynamic_dims[d] >= 0) buffer.type.shape[d] = resized.axes[buffer.dynamic_dims[d]].size;
    }
  }
  return resized;
}

Kernel with_dynamic_size(const Kernel& kernel, int64_t size) {
  return resize(kernel, std::vector<int64_t>(kernel.axes.size(), size));
}

int64_t bytes_of_buffers(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const auto& buffer : kernel.buffers)
    bytes += buffer.type.bytes();
  return bytes;
}

int64_t bytes_of_outputs(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const auto& buffer : kernel.buffers)
    if (buffer.role == BufferRole::out) bytes += buffer.type.bytes();
  return bytes;
}

}  // namespace autoperfect

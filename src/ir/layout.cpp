#include "ir/layout.h"

#include <algorithm>

#include "ir/shape.h"

namespace autoperfect {

std::vector<FreeStride> free_strides(const Kernel& kernel) {
  std::vector<FreeStride> found;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const auto& strides = kernel.buffers[b].layout.strides;
    for (size_t d = 0; d < strides.size(); ++d)
      if (strides[d] == free_stride) found.push_back({static_cast<BufferId>(b), d});
  }
  return found;
}

size_t dim_of_axis(const Kernel& kernel, AxisId axis) {
  return static_cast<size_t>(std::count_if(
      kernel.axes.begin(), kernel.axes.begin() + axis, [](const Axis& before) { return before.dynamic; }));
}

size_t dim_of_stride(const Kernel& kernel, BufferId buffer, size_t dimension) {
  size_t place = dim_of_axis(kernel, static_cast<AxisId>(kernel.axes.size()));
  for (const auto& stride : free_strides(kernel)) {
    if (stride.buffer == buffer && stride.dimension == dimension) break;
    ++place;
  }
  return place;
}

std::vector<int64_t> strides_of(const Buffer& buffer) {
  return buffer.layout.strides.empty() ? row_major_strides(buffer.type.shape) : buffer.layout.strides;
}

std::string strides_text(const std::vector<int64_t>& strides) {
  std::string text = "strides=[";
  for (size_t d = 0; d < strides.size(); ++d) {
    if (d > 0) text += ',';
    text += strides[d] == free_stride ? "?" : std::to_string(strides[d]);
  }
  return text + ']';
}

void settle_free_strides(Buffer& buffer, int64_t gap, bool first_to_last) {
  auto& strides = buffer.layout.strides;
  auto steps = [&](size_t d) { return std::max<int64_t>(0, buffer.type.shape[d] - 1); };
  int64_t reach = 1;
  for (size_t d = 0; d < strides.size(); ++d)
    if (strides[d] != free_stride) reach += std::abs(strides[d]) * steps(d);
  for (size_t k = 0; k < strides.size(); ++k) {
    const size_t d = first_to_last ? k : strides.size() - 1 - k;
    if (strides[d] != free_stride) continue;
    strides[d] = reach + gap;
    reach += strides[d] * steps(d);
  }
}

std::optional<int64_t> span_of(const Buffer& buffer) {
  const auto& shape = buffer.type.shape;
  if (std::count(shape.begin(), shape.end(), 0)) return 0;
  int64_t lowest = buffer.layout.offset, highest = buffer.layout.offset;
  if (lowest < 0 || lowest > max_elements) return std::nullopt;
  const auto strides = strides_of(buffer);
  for (size_t d = 0; d < strides.size(); ++d) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(strides[d], shape[d] - 1, &reach)) return std::nullopt;
    if (reach > max_elements || reach < -max_elements) return std::nullopt;
    (reach < 0 ? lowest : highest) += reach;
    if (lowest < 0 || highest >= max_elements) return std::nullopt;
  }
  return highest + 1;
}

int64_t alignment_of(const Buffer& buffer) {
  int64_t least = buffer.role == BufferRole::temp ? temporary_align : size_of(buffer.type.dtype);
  return std::max(buffer.layout.align, least);
}

}  // namespace autoperfect

#include "dispatch/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "compile/cpu/compile.h"

namespace autoperfect {

namespace {

constexpr int64_t tile = 32;  // of a transposition: 32 x 32 elements stay in the first cache
constexpr int64_t parallel_bytes = int64_t{1} << 20;

struct Dims {
  std::vector<int64_t> shape, strides;
};

// Without axes of size 1, and with neighbouring axes that step evenly made one.
Dims collapse(const StridedSource& source) {
  Dims dims;
  for (size_t d = 0; d < source.shape.size(); ++d) {
    int64_t size = source.shape[d], stride = source.strides[d];
    if (size == 1) continue;
    if (!dims.shape.empty() && dims.strides.back() == stride * size) {
      dims.shape.back() *= size;
      dims.strides.back() = stride;
    } else {
      dims.shape.push_back(size);
      dims.strides.push_back(stride);
    }
  }
  while (dims.shape.size() < 2) {
    dims.shape.insert(dims.shape.begin(), 1);
    dims.strides.insert(dims.strides.begin(), 0);
  }
  return dims;
}

template <class T>
void copy_row(const T* source, int64_t stride, int64_t count, T* dense) {
  if (stride == 1) {
    std::memcpy(dense, source, count * sizeof(T));
  } else if (stride == 0) {
    std::fill_n(dense, count, *source);
  } else {
    for (int64_t i = 0; i < count; ++i)
      dense[i] = source[i * stride];
  }
}

// The last two axes, rows [begin, end) of the first of them.
template <class T>
void copy_plane(const T* source, const Dims& dims, int64_t begin, int64_t end, T* dense) {
  size_t last = dims.shape.size() - 1;
  int64_t columns = dims.shape[last], row_stride = dims.strides[last - 1], stride = dims.strides[last];
  if (std::abs(stride) <= std::abs(row_stride) || std::abs(stride) <= 1) {
    for (int64_t r = begin; r < end; ++r)
      copy_row(source + r * row_stride, stride, columns, dense + r * columns);
    return;
  }
  for (int64_t r0 = begin; r0 < end; r0 += tile) {
    for (int64_t c0 = 0; c0 < columns; c0 += tile) {
      int64_t r1 = std::min(r0 + tile, end), c1 = std::min(c0 + tile, columns);
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c)
          dense[r * columns + c] = source[r * row_stride + c * stride];
      }
    }
  }
}

// Rows [begin, end) of all rows of all planes.
template <class T>
void copy_rows(const T* source, const Dims& dims, int64_t begin, int64_t end, T* dense) {
  int64_t rank = static_cast<int64_t>(dims.shape.size());
  int64_t rows = dims.shape[rank - 2], columns = dims.shape[rank - 1];
  for (int64_t row = begin; row < end;) {
    int64_t plane = row / rows, first = row % rows, count = std::min(rows - first, end - row);
    int64_t offset = 0;
    for (int64_t d = rank - 3, rest = plane; d >= 0; --d) {
      offset += rest % dims.shape[d] * dims.strides[d];
      rest /= dims.shape[d];
    }
    copy_plane(source + offset, dims, first, first + count, dense + plane * rows * columns);
    row += count;
  }
}

template <class T>
void copy_typed(const StridedSource& source, void* dense) {
  auto dims = collapse(source);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < dims.shape.size(); ++d)
    rows *= dims.shape[d];
  int64_t bytes = rows * dims.shape.back() * static_cast<int64_t>(sizeof(T));
  auto* from = static_cast<const T*>(source.data);
  auto* to = static_cast<T*>(dense);
  if (rows == 0 || dims.shape.back() == 0) return;
  int64_t chunks = std::min<int64_t>({bytes / parallel_bytes, rows, int64_t{4} * pool_threads()});
  if (chunks < 2) {
    copy_rows(from, dims, 0, rows, to);
    return;
  }
  parallel_for(chunks, 0, [&](int64_t chunk, int) {
    copy_rows(from, dims, rows * chunk / chunks, rows * (chunk + 1) / chunks, to);
  });
}

}  // namespace

void copy_to_dense(const StridedSource& source, void* dense) {
  switch (source.item_bytes) {
    case 1:
      return copy_typed<uint8_t>(source, dense);
    case 2:
      return copy_typed<uint16_t>(source, dense);
    case 4:
      return copy_typed<uint32_t>(source, dense);
    default:
      return copy_typed<uint64_t>(source, dense);
  }
}

}  // namespace autoperfect

// Any strided tensor into a dense row-major one.
#pragma once

#include <cstdint>
#include <vector>

namespace autoperfect {

struct StridedSource {
  const void* data = nullptr;
  int64_t item_bytes = 1;               // 1, 2, 4 or 8
  std::vector<int64_t> shape, strides;  // strides in elements, zero and negative ones included
};

// Over all threads of the pool when it is worth it.
void copy_to_dense(const StridedSource& source, void* dense);

}  // namespace autoperfect

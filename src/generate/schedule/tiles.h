// Elementwise kernels that read some input across its rows: in square tiles, turned in registers, so that
// input and output are both touched a cache line at a time.
#pragma once

#include <optional>

#include "generate/schedule/nest.h"
#include "generate/schedule/writer.h"
#include "ir/kernel.h"

namespace autoperfect::schedule {

// The nest with the group along which such inputs are contiguous as its inner one; none when there is no such
// input, or the kernel is not elementwise.
std::optional<Nest> find_tiles(const Kernel& kernel);

// `side`: elements of a block along both groups.
std::optional<Written> write_tiles(const Kernel& kernel, const Nest& nest, int64_t side, bool stream);

}  // namespace autoperfect::schedule

// Writes the CUDA of one mapping of one kernel (or of a part of a larger one, whose blocks follow those of
// other parts in one launch).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generate/candidate.h"
#include "generate/schedule/cuda/mapping.h"
#include "generate/schedule/nest.h"
#include "ir/kernel.h"

namespace autoperfect::schedule::cuda {

// As device functions part<n> and finish<n>. Sizes are expressions of d0.
struct Part {
  std::string source;
  std::string blocks, finish_blocks;  // finish_blocks is empty: no finish
  std::string partial_bytes;
  int threads = 0, finish_threads = 0;
  int64_t shared_bytes = 0, finish_shared_bytes = 0;
  int64_t block_bytes = 0;                  // beyond those, given by the launch
  std::vector<bool> stores, finish_stores;  // per buffer
};

// None when the kernel holds something the CUDA schedules have no form for.
std::optional<Part> write_part(const Kernel& kernel, const Nest& nest, const Mapping& mapping, int number);

// The whole source and how it is launched; none when an output would be stored by both launches. `unit`: what
// the parts count the open axis in.
std::optional<Candidate> join(const Kernel& kernel, const std::vector<Part>& parts, const SizeGuard& unit);

}  // namespace autoperfect::schedule::cuda

// How the units of one launch are cut into chunks.
#pragma once

#include <cstdint>

#include "generate/candidate.h"

namespace autoperfect {

struct ChunkPlan {
  int64_t chunks = 0;
  int64_t size = 0;  // units of each chunk but the last
};

// With partial results the cut depends on units and launch alone, so that the result does not depend on the
// number of threads; then there is always at least one chunk, so that a reduction over nothing still gives
// its identity.
ChunkPlan plan_chunks(const Launch& launch, int64_t units, int threads);

// Distance of the partial results of two chunks: partial_bytes rounded up to 64.
int64_t partial_stride(const Launch& launch);

}  // namespace autoperfect

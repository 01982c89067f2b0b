// A kernel somebody proposes for a region: source, how to launch it, and where it came from. Nothing runs
// before it was checked, compiled and passed the gate.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

// How the CPU runtime runs a kernel: the axes of `parallel`, flattened (outermost first), are `units`; the
// runtime cuts [0, units) into chunks and calls the kernel on each. With partial_bytes > 0 each chunk has its
// own partial result and finish() combines them in order; the number of chunks then depends on the sizes
// alone, so that results do not depend on the number of threads.
struct Launch {
  std::vector<AxisId> parallel;
  int64_t grain = 1;          // fewest units worth a chunk of their own
  int64_t align = 1;          // chunks begin at multiples of this many units
  int64_t scratch_bytes = 0;  // per thread, 64-byte aligned
  int64_t partial_bytes = 0;  // per chunk, 64-byte aligned; 0: no finish()
  // Languages `cuda` and `metal`: blocks, and threads of a block, one to three expressions of sizes
  // (size_expression.h) each; scratch_bytes is then the memory a block shares.
  std::vector<std::string> grid = {}, block = {};
  bool operator==(const Launch&) const = default;
};

// What a candidate assumes beyond the kernel's contract: dispatch runs MLX where it does not hold, and the
// gate tries nothing else.
struct SizeGuard {
  AxisId axis = -1;  // a dynamic one
  int64_t multiple = 1, least = 1, most = std::numeric_limits<int64_t>::max();
  bool operator==(const SizeGuard&) const = default;
};
struct Guards {
  std::vector<SizeGuard> sizes;
  int64_t alignment = 1;  // of every buffer, in bytes
  bool operator==(const Guards&) const = default;
};

// A second CUDA launch that follows the first on the same stream, the function autoperfect_finish, and the
// memory for what passes between them. Without one all outputs are the first launch's.
struct SecondLaunch {
  std::vector<std::string> grid, block;               // empty: there is none
  std::string partial_bytes;                          // an expression of sizes, too
  std::vector<int> first_outputs = {}, outputs = {};  // which each of them stores, counted from 0
  bool operator==(const SecondLaunch&) const = default;
};

// Language `cpu`: the source defines, behind the prelude (src/compile/cpu/prelude*), in C++ with C linkage,
//   void autoperfect_kernel(const void* const* in, void* const* out, void* scratch, void* partial,
//                           const long* dims, long begin, long end);
//   void autoperfect_finish(const void* const* in, void* const* out, const void* partials, long chunks,
//                           const long* dims);                       // only with partial_bytes > 0
// Language `cuda`: behind the prelude (src/compile/cuda/prelude*), with C linkage,
//   __global__ void autoperfect_kernel(inputs..., outputs it stores..., unsigned char* partial, int d0);
//   __global__ void autoperfect_finish(inputs..., unsigned char* partial, outputs it stores..., int d0);
// with `partial` only where there is a finish, and d0 only where an axis is dynamic; and both once more with
// the ending `_unaligned`, right for buffers that do not begin at a multiple of 16 bytes.
//
// in: inputs in ABI order; each pointer is where its layout counts from. out: outputs, then temporaries (the
// runtime allocates them, one for all chunks; what they hold at first is undefined). An output may lie where
// its `alias` lies. dims: sizes of the dynamic axes in axis order, then the free strides in the order of
// buffers and dimensions (ir/layout.h); [begin, end): units.
struct Candidate {
  std::string signature;  // of the kernel it is for
  std::string target;     // Target::name
  std::string language = "cpu";
  std::string source;
  Launch launch;
  Guards guards = {};
  SecondLaunch second = {};
  std::string provenance;  // e.g. "schedule: rows passes=3 unroll=4 cache=scratch store=stream"
};

// A place where what an author wrote goes one way or another.
struct Arm {
  int line = 0;      // of the draft
  std::string what;  // "then", "else", "loop body", "loop skipped", "case", "?:", "&&"
  bool operator==(const Arm&) const = default;
};

}  // namespace autoperfect

// CUDA kernels: source -> cubin for one compute capability, in this process, with NVRTC. NVRTC is looked for
// when it is first needed, so that everything builds, and everything else runs, without CUDA. Launching is no
// business of this folder.
#pragma once

#include <string>

#include "support/result.h"

namespace autoperfect {

struct CudaCompiler {
  std::string version;  // of NVRTC, "13.0"; part of the cache key
  std::string flags;    // what is passed besides the architecture; part of the cache key
};
// NVRTC of this machine, found once: libnvrtc.so.13 or .12 where the system's loader finds it, or under
// /usr/local/cuda. An error when there is none.
const Result<CudaCompiler>& cuda_compiler();

const std::string& cuda_prelude_source();  // the text put in front of every kernel

struct CudaBinary {
  std::string cubin;
  std::string log;  // what the compiler said, warnings included
};

// capability: 90 for sm_90; 80 and up. Messages about our source become Diagnostics with lines of the
// candidate.
Result<CudaBinary> compile_cuda(const std::string& source, int capability);

}  // namespace autoperfect

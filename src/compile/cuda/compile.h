// CUDA kernels: source -> cubin for one compute capability, with NVRTC: in this process what is built in, in
// a helper process that is shut in what others wrote. NVRTC is looked for when it is first needed, so that
// everything builds, and everything else runs, without CUDA. Launching is no business of this folder.
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

struct CudaOptions {
  // Written by others: compiled in the helper program, and products and sums are contracted, as CUDA does
  // unless it is told otherwise.
  bool drafted = false;
  double seconds = 60;  // then the helper program is stopped
};

// capability: 90 for sm_90; 80 and up. Messages about our source become Diagnostics with lines of the
// candidate.
Result<CudaBinary> compile_cuda(const std::string& source, int capability, const CudaOptions& how = {});

// In the helper program: compiles the whole text on its stdin and ends. The cubin goes to stdout, what the
// compiler says to stderr. When the user's process dies, it dies.
constexpr const char* cuda_compiler_mode = "compile-cuda";
int run_cuda_compiler(int argc, char** argv);

}  // namespace autoperfect

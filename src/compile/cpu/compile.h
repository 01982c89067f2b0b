// CPU kernels: source -> shared object (system compiler in a limited child process) -> loaded functions ->
// launch over a pool of threads. Knows nothing of MLX.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "generate/candidate.h"
#include "support/result.h"
#include "support/subprocess.h"

namespace autoperfect {

struct Compiler {
  std::string path;      // "/usr/bin/g++"
  std::string identity;  // real path, size and time of change; part of the cache key
  std::string flags;     // what is passed besides files; part of the cache key
};
// The system compiler: $CXX when it is set, else g++, c++, clang++ on PATH. Found once. An error when there
// is none.
const Result<Compiler>& system_compiler();
std::string version_of(const Compiler& compiler);  // first line of --version; runs it; empty when that fails

const std::string& prelude_source();  // the text put in front of every kernel
std::string cpu_features();           // e.g. "avx512f avx512bw avx512vl avx2 fma f16c": part of the cache key
int cpu_lanes();                      // f32 lanes the prelude will use here: 16, 8 or 4

enum class Build : uint8_t {
  plain,
  sanitized,  // accesses and undefined behaviour are watched; for the gate's helper process alone
  counted,    // sanitized, of a source whose functions have one more, last parameter: unsigned char* reached
};

struct CompilerOptions {
  // Layers. Tests switch them off to see what the others catch; built-in sources, which are trusted, are
  // compiled outside the sandbox.
  bool sandbox = true;
  bool object_check = true;
  double seconds = 60;  // then the compiler is stopped
};

// The bytes of a shared object. Compiler messages about our source become Diagnostics with lines of the
// candidate. The compiler runs in a child process that is shut in as far as the system allows.
Result<std::string> compile_cpu(
    const std::string& source,
    const Compiler& compiler,
    Build build = Build::plain,
    const CompilerOptions& how = {});

// A kernel in memory, unloaded with its last owner.
struct LoadedKernel {
  using Kernel = void (*)(
      const void* const* in,
      void* const* out,
      void* scratch,
      void* partial,
      const long* dims,
      long begin,
      long end);
  using Finish =
      void (*)(const void* const* in, void* const* out, const void* partials, long chunks, const long* dims);
  Kernel kernel = nullptr;
  Finish finish = nullptr;
  Launch launch;
  ~LoadedKernel();
  void* handle = nullptr;
};
Result<std::shared_ptr<LoadedKernel>> load_cpu(const std::string& binary, const Launch& launch);

// Runs it to completion over all threads of the pool (threads = 0) or over so many (1: on the calling
// thread). units: product of the sizes of the parallel axes. The partial result of chunk c lies at c *
// (partial_bytes rounded up to 64).
void launch_cpu(
    const LoadedKernel& kernel,
    const void* const* in,
    void* const* out,
    const long* dims,
    int64_t units,
    int threads = 0);

// Calls body(chunk, thread) for chunk in [0, chunks) over the pool, the caller taking part; returns when all
// are done. Survives fork (the child starts its own threads). Usable from several threads at once.
void parallel_for(int64_t chunks, int threads, const std::function<void(int64_t chunk, int thread)>& body);
int pool_threads();

}  // namespace autoperfect

// The description of a machine that costs rest on: what a kernel of ours can reach there, and what MLX needs
// for the same. Measured by tune/machine, or one of the named ones: those are fixed, for tests and for
// planning without the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace autoperfect {

// MLX's side of a target.
struct MlxSpeed {
  double op_seconds = 1.5e-6;      // fixed cost of one op
  double bytes_per_second = 10e9;  // of its loops, beyond the caches
  double gemm_flops_per_second = 4.6e9;
  double fault_seconds_per_byte = 0.35e-9;  // of a result in fresh memory
  int64_t kept_bytes =
      int64_t{32} << 20;  // freed memory its allocator keeps; larger results are fresh memory
  // Its loops handle one element after the other, at the times of mlx_cost.cpp; false: they run at
  // bytes_per_second whatever the op.
  bool scalar = true;
};

struct Target {
  // "cpu.avx512", "cpu.avx2", "cpu.neon", "cpu.generic", "cuda.h200", "cuda.sm_90", "metal.m1"
  std::string name = "cpu";
  int capability = 0;                     // of an NVIDIA GPU: 90 for sm_90; 0: no such GPU
  int threads = 1;                        // of a GPU its multiprocessors
  int lanes = 4;                          // f32 lanes of a vector register
  int vector_registers = 16;              // more values alive at once spill
  double copy_bytes_per_second = 10e9;    // read + written, streaming stores, all cores
  double cache_bytes_per_second = 40e9;   // the same where all fits the last-level cache
  double flops_per_second = 50e9;         // f32 FMA peak, all cores; an FMA is two
  double gemm_share = 0.6;                // of it that a matrix product of ours reaches
  bool library_attention = false;         // MLX has a kernel for attention as one there, for halves at least
  bool contracts = true;                  // kernels of ours hold matrix products; false: MLX's libraries do
  double launch_seconds = 5e-6;           // fixed cost of one of our kernels
  int64_t l1_bytes = int64_t{32} << 10;   // data, of one core
  int64_t shared_bytes = 0;               // of a GPU: what a block may have at most
  int64_t l2_bytes = int64_t{512} << 10;  // of one core
  int64_t l3_bytes = int64_t{8} << 20;    // shared
  MlxSpeed mlx;
};

// A fixed description by its name; none for a name that is not known.
std::optional<Target> find_target(std::string_view name);
std::vector<std::string_view> target_names();

// For planning without measuring: this processor's kind of vectors, cores and caches, modest speeds.
Target default_cpu_target();

}  // namespace autoperfect

// What work costs: bytes moved, flops, live bytes, launches, roofline time, against the description of a
// target. First gate only; measurement decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace autoperfect {

struct Target {
  std::string name = "cpu";  // "cpu.avx512", "cpu.avx2", "cpu.neon", "cpu.generic"
  int threads = 1;
  int lanes = 4;                        // f32 lanes of a vector register
  double copy_bytes_per_second = 10e9;  // read + written, streaming stores, all cores
  double flops_per_second = 50e9;       // f32 FMA peak, all cores
  double launch_seconds = 5e-6;         // fixed cost of one of our kernels
  // MLX on this target: what the alternative costs.
  double mlx_op_seconds = 1.5e-6;     // fixed cost of one MLX op
  double mlx_bytes_per_second = 5e9;  // of its single-threaded loops
};

struct RegionCost {
  int64_t bytes_read = 0, bytes_written = 0;  // by the fused kernel
  int64_t bytes_saved = 0;                    // intermediates MLX would write and read again
  double flops = 0;
  double fused_seconds = 0, unfused_seconds = 0;  // predicted
};

RegionCost cost_of(
    const Graph& graph,
    const std::vector<NodeId>& nodes,
    const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs,
    const Target& target);

// A target for planning without measuring: the given name's lanes with modest defaults.
Target default_cpu_target();

}  // namespace autoperfect

#include "cost/cost.h"

#include <thread>

#include "cost/weight.h"

namespace autoperfect {
namespace {

// Flops of one element in a vectorised kernel of ours.
double flops_of(Weight weight) {
  switch (weight) {
    case Weight::free:
      return 0;
    case Weight::light:
      return 1;
    case Weight::division:
      return 8;
    case Weight::heavy:
      return 30;
  }
  return 0;
}

// Seconds an element costs in MLX's scalar CPU loops beyond the memory traffic: a libm call, a division, an
// add.
double mlx_seconds_of(Weight weight) {
  switch (weight) {
    case Weight::free:
      return 0;
    case Weight::light:
      return 0.4e-9;
    case Weight::division:
      return 1.2e-9;
    case Weight::heavy:
      return 8e-9;
  }
  return 0;
}

}  // namespace

RegionCost cost_of(
    const Graph& graph,
    const std::vector<NodeId>& nodes,
    const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs,
    const Target& target) {
  RegionCost cost;
  for (ValueId v : inputs)
    cost.bytes_read += graph.type(v).bytes();
  for (ValueId v : outputs)
    cost.bytes_written += graph.type(v).bytes();
  int64_t unfused_bytes = 0;
  for (NodeId id : nodes) {
    const Node& node = graph.nodes[id];
    Weight weight = weight_of(node.op);
    if (weight == Weight::free) continue;
    bool reduces = class_of(node.op) == OpClass::reduction;
    double elements =
        static_cast<double>(graph.type(reduces ? node.operands[0] : node.results[0]).elements());
    cost.flops += elements * flops_of(weight);
    int64_t bytes = 0;
    for (ValueId v : node.operands)
      bytes += graph.type(v).bytes();
    for (ValueId v : node.results)
      bytes += graph.type(v).bytes();
    unfused_bytes += bytes;
    cost.unfused_seconds += target.mlx_op_seconds + elements * mlx_seconds_of(weight) +
                            static_cast<double>(bytes) / target.mlx_bytes_per_second;
  }
  int64_t fused_bytes = cost.bytes_read + cost.bytes_written;
  cost.bytes_saved = std::max<int64_t>(0, unfused_bytes - fused_bytes);
  // Compute and memory overlap; a single-threaded tail does not matter at this accuracy.
  double memory = static_cast<double>(fused_bytes) / target.copy_bytes_per_second;
  double compute = cost.flops / target.flops_per_second * 2;
  cost.fused_seconds = target.launch_seconds + std::max(memory, compute);
  return cost;
}

Target default_cpu_target() {
  Target target;
#if defined(__x86_64__)
  bool wide = __builtin_cpu_supports("avx512f");
  bool medium = __builtin_cpu_supports("avx2");
  target.name = wide ? "cpu.avx512" : medium ? "cpu.avx2" : "cpu.generic";
  target.lanes = wide ? 16 : medium ? 8 : 4;
#elif defined(__aarch64__)
  target.name = "cpu.neon";
#endif
  unsigned cores = std::thread::hardware_concurrency();
  target.threads = cores ? static_cast<int>(cores) : 1;
  target.flops_per_second = 4e9 * target.lanes * target.threads;
  return target;
}

}  // namespace autoperfect

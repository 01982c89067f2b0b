#include "cost/floor.h"

#include <algorithm>
#include <set>

#include "cost/bytes.h"

namespace autoperfect {
namespace {

// What a machine may be better than it measured: others may have kept it busy.
constexpr double doubt = 4;
constexpr double fast_memory = 100e9;  // bytes per second
constexpr double fast_clock = 4e9;
constexpr double flops_per_lane = 4;        // two FMAs a cycle
constexpr double first_level_per_flop = 3;  // bytes: two loads and a store of 4 bytes by 4 flops
constexpr double second_level_per_flop = 1.5;

double elements_over(const Kernel& kernel, const std::set<AxisId>& axes) {
  double elements = 1;
  for (AxisId axis : axes)
    elements *= static_cast<double>(kernel.axes[axis].size);
  return elements;
}

// Of an input, what one load reads for certain; nothing of one whose index is data.
double least_read(const Kernel& kernel, BufferId buffer) {
  double most = 0;
  for (auto& value : kernel.values) {
    for (auto& operand : value.operands) {
      if (operand.kind != KernelOperand::Kind::load || operand.id != buffer || operand.gathers()) continue;
      std::set<AxisId> axes;
      bool is_plain = !operand.guarded;
      for (auto& index : operand.index) {
        is_plain = is_plain && index.terms.size() <= 1;
        for (auto& [axis, coefficient] : index.terms)
          axes.insert(axis);
      }
      if (is_plain) most = std::max(most, elements_over(kernel, axes));
    }
  }
  return most * static_cast<double>(size_of(kernel.buffers[buffer].type.dtype));
}

double least_bytes(const Kernel& kernel) {
  double bytes = 0;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    auto& buffer = kernel.buffers[b];
    bytes += buffer.role == BufferRole::out
                 ? bytes_of(buffer.type)
                 : std::min(bytes_of(buffer.type), least_read(kernel, static_cast<BufferId>(b)));
  }
  return bytes;
}

double least_flops(const Kernel& kernel) {
  double flops = 0;
  for (auto& value : kernel.values) {
    if (class_of(value.op) != OpClass::gemm) continue;
    std::set<AxisId> axes(value.axes.begin(), value.axes.end());
    axes.insert(value.reduced.begin(), value.reduced.end());
    flops += 2 * elements_over(kernel, axes);
  }
  return flops;
}

}  // namespace

double physical_floor_seconds(const Kernel& kernel, const Target& target) {
  const double flops_per_second = std::max(
      doubt / 2 * target.flops_per_second,
      flops_per_lane * fast_clock * static_cast<double>(target.threads) * static_cast<double>(target.lanes));
  const double memory = std::max(doubt * target.copy_bytes_per_second, fast_memory);
  const double threads = target.threads, bytes = least_bytes(kernel);
  double bytes_per_second = memory;
  if (bytes <= threads * static_cast<double>(target.l1_bytes))
    bytes_per_second = first_level_per_flop * flops_per_second;
  else if (bytes <= threads * static_cast<double>(target.l2_bytes))
    bytes_per_second = second_level_per_flop * flops_per_second;
  else if (bytes <= 2 * static_cast<double>(target.l3_bytes))
    bytes_per_second = std::max(memory, doubt * target.cache_bytes_per_second);
  return std::max(bytes / std::max(bytes_per_second, memory), least_flops(kernel) / flops_per_second);
}

}  // namespace autoperfect

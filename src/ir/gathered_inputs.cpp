#include "ir/gathered_inputs.h"

#include <algorithm>
#include <optional>

namespace autoperfect {
namespace {

struct Range {
  double least, most;
};

// Per value its range, where it is made of places along axes and numbers alone: a position.
std::vector<std::optional<Range>> ranges_of_positions(const Kernel& kernel) {
  std::vector<std::optional<Range>> ranges(kernel.values.size());
  auto of = [&](const KernelOperand& operand) -> std::optional<Range> {
    switch (operand.kind) {
      case KernelOperand::Kind::iota:
        return Range{0, static_cast<double>(kernel.axes[operand.id].size - 1)};
      case KernelOperand::Kind::literal:
        return Range{operand.literal, operand.literal};
      case KernelOperand::Kind::value:
        return ranges[operand.id];
      default:
        return std::nullopt;
    }
  };
  for (size_t v = 0; v < kernel.values.size(); ++v) {
    const auto& value = kernel.values[v];
    const bool moves = value.op == Op::copy || value.op == Op::cast;
    if (!is_integer(value.dtype) || !(moves || value.op == Op::add || value.op == Op::mul)) continue;
    const auto a = of(value.operands[0]), b = moves ? a : of(value.operands[1]);
    if (!a || !b) continue;
    if (moves) {
      ranges[v] = a;
    } else if (value.op == Op::add) {
      ranges[v] = Range{a->least + b->least, a->most + b->most};
    } else {
      const auto ends =
          std::minmax({a->least * b->least, a->least * b->most, a->most * b->least, a->most * b->most});
      ranges[v] = Range{ends.first, ends.second};
    }
  }
  return ranges;
}

void index(int64_t& known, int64_t size) {
  known = known == 0 ? size : std::min(known, size);
}

}  // namespace

std::vector<int64_t> gathered_sizes(const Kernel& kernel) {
  std::vector<int64_t> of_values(kernel.values.size(), 0), of_buffers(kernel.buffers.size(), 0);
  const auto positions = ranges_of_positions(kernel);
  auto position = [&](const KernelOperand& operand) {
    return operand.kind == KernelOperand::Kind::value ? positions[operand.id] : std::nullopt;
  };
  auto note = [&](const KernelOperand& operand, int64_t size) {
    if (operand.kind == KernelOperand::Kind::value && is_integer(kernel.values[operand.id].dtype))
      index(of_values[operand.id], size);
    if (operand.kind == KernelOperand::Kind::load && is_integer(kernel.buffers[operand.id].type.dtype))
      index(of_buffers[operand.id], size);
  };
  // Values come after what they use, so one walk from the last to the first sees every use before its value.
  for (size_t v = kernel.values.size(); v-- > 0;) {
    const auto& value = kernel.values[v];
    for (const auto& operand : value.operands) {
      for (size_t d = 0; d < operand.gathered.size(); ++d) {
        if (operand.gathered[d] >= 0)
          index(of_values[operand.gathered[d]], kernel.buffers[operand.id].type.shape[d]);
      }
    }
    for (size_t k = 0; value.op == Op::equal && k < 2; ++k) {
      const auto range = position(value.operands[k]);
      if (range && range->most >= 0) note(value.operands[1 - k], static_cast<int64_t>(range->most) + 1);
    }
  }
  for (size_t v = kernel.values.size(); v-- > 0;) {
    if (of_values[v] == 0) continue;
    for (const auto& operand : kernel.values[v].operands)
      note(operand, of_values[v]);
  }
  return of_buffers;
}

}  // namespace autoperfect

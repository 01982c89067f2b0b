// Scatters as choices: an element is what it was, or what landed on it, update by update in MLX's order, each
// rounded as MLX rounds it.
#include <algorithm>

#include "fuse/legal.h"
#include "lower/statement_writer.h"

namespace autoperfect {

// Over the axes of its operands.
KernelOperand StatementWriter::emit(
    const std::string& name, Op op, Dtype dtype, std::vector<KernelOperand> operands) {
  std::vector<AxisId> axes;
  for (auto& operand : operands) {
    auto more = autoperfect::axes_of(kernel_, operand);
    axes.insert(axes.end(), more.begin(), more.end());
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return emit(name, op, dtype, std::move(axes), std::move(operands));
}

// An index as the place it means: a negative one counts from the end.
KernelOperand StatementWriter::place_of(int index, int64_t size) {
  KernelOperand at = named(index);
  const Dtype dtype = kernel_.values[at.id].dtype;
  if (dtype != Dtype::i32) at = emit("place", Op::cast, Dtype::i32, {at});
  if (!is_signed_integer(dtype)) return at;
  KernelOperand from_end = emit("from_end", Op::less, Dtype::bool_, {at, literal_operand(0)});
  KernelOperand counted =
      emit("counted", Op::add, Dtype::i32, {at, literal_operand(static_cast<double>(size))});
  return emit("place", Op::select, Dtype::i32, {from_end, counted, at});
}

// Whether an update is for the element; nothing where it always is.
std::optional<KernelOperand> StatementWriter::lands(
    const Instance& instance, const Landings& landings, const int* indices) {
  const Shape& shape = graph_.type(graph_.nodes[instance.node].operands[0]).shape;
  std::optional<KernelOperand> all;
  for (size_t k : landings.compared) {
    auto axis = static_cast<size_t>(landings.axes[k]);
    KernelOperand place = place_of(*indices++, shape[axis]);
    KernelOperand here = emit("lands", Op::equal, Dtype::bool_, {position(instance.map[axis].affine), place});
    all = all ? emit("lands", Op::logical_and, Dtype::bool_, {*all, here}) : here;
  }
  return all;
}

// The element after an update that is for it. Of two numbers that do not compare MLX takes the update.
KernelOperand StatementWriter::combined(const Node& node, int update, KernelOperand before) {
  const auto reduce = node.attributes.get_or("reduce", std::string());
  KernelOperand given = operand(update);
  if (given.kind == KernelOperand::Kind::literal && before.kind == KernelOperand::Kind::literal)
    given = named(update);
  if (reduce.empty()) return given;
  const std::string& base = graph_.values[node.results[0]].name;
  const Dtype dtype = graph_.type(node.results[0]).dtype;
  if (reduce == "sum" || reduce == "prod")
    return emit(base + "_landed", reduce == "sum" ? Op::add : Op::mul, dtype, {before, given});
  std::vector<KernelOperand> order{given, before};
  if (reduce == "min") std::swap(order[0], order[1]);
  KernelOperand stays = emit(base + "_stays", Op::less, Dtype::bool_, std::move(order));
  return emit(base + "_landed", Op::select, dtype, {stays, before, given});
}

void StatementWriter::write_scatter(const Instance& instance, KernelValue value) {
  const Node& node = graph_.nodes[instance.node];
  const Landings landings = landings_of(graph_, node);
  const std::string base = graph_.values[node.results[0]].name;
  KernelOperand element = operand(instance.operands[0]);
  const int* next = instance.operands.data() + 1;
  for (int64_t n = 0; n < landings.updates; ++n) {
    auto here = lands(instance, landings, next);
    next += landings.compared.size();
    KernelOperand landed = combined(node, *next++, element);
    value.op = here ? Op::select : Op::copy;
    value.operands = {landed};
    if (here) value.operands = {*here, landed, element};
    if (n + 1 < landings.updates) element = emit(base + "_after", value.op, value.dtype, value.operands);
  }
  finish(instance, std::move(value));
}

}  // namespace autoperfect

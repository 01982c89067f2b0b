#include "lower/lower.h"

#include <algorithm>
#include <cmath>

#include "fuse/trace.h"
#include "ir/alias.h"
#include "ir/canonical_order.h"
#include "ir/widened.h"
#include "lower/statements.h"

namespace autoperfect {
namespace {

// An axis may have any size when no reduction or scan runs along it and every buffer it indexes is indexed by
// it alone, along one whole dimension. Some input must tell the size.
void open_axis(Kernel& kernel, AxisId axis) {
  const Affine itself{0, {{axis, 1}}};
  std::vector<std::pair<BufferId, size_t>> dims;
  auto admits = [&](BufferId buffer, const std::vector<Affine>& index) {
    for (size_t d = 0; d < index.size(); ++d) {
      bool uses =
          std::any_of(index[d].terms.begin(), index[d].terms.end(), [&](auto& t) { return t.first == axis; });
      if (!uses) continue;
      if (!(index[d] == itself) || kernel.buffers[buffer].type.shape[d] != kernel.axes[axis].size)
        return false;
      dims.push_back({buffer, d});
    }
    return true;
  };
  for (auto& value : kernel.values) {
    if (value.scanned == axis || std::count(value.reduced.begin(), value.reduced.end(), axis)) return;
    for (auto& operand : value.operands)
      if (operand.kind == KernelOperand::Kind::load && !admits(operand.id, operand.index)) return;
    if (value.output >= 0 && !admits(value.output, value.store)) return;
  }
  // A buffer read whole in one place and at another index elsewhere would change its meaning with the size.
  for (auto& value : kernel.values)
    for (auto& operand : value.operands)
      if (operand.kind == KernelOperand::Kind::load)
        for (auto& [buffer, d] : dims)
          if (operand.id == buffer && !(operand.index[d] == itself)) return;
  auto is_input = [&](const auto& dim) { return kernel.buffers[dim.first].role == BufferRole::in; };
  if (std::none_of(dims.begin(), dims.end(), is_input)) return;
  kernel.axes[axis].dynamic = true;
  for (auto& [buffer, d] : dims)
    kernel.buffers[buffer].dynamic_dims[d] = axis;
}

// A scatter that counts an index from the end has the size of its axis written down.
std::vector<bool> written_down(const Graph& graph, const Kernel& kernel) {
  std::vector<bool> found(kernel.axes.size(), false);
  for (auto& value : kernel.values) {
    if (value.op != Op::equal || value.nodes.empty()) continue;
    Op op = graph.nodes[value.nodes[0]].op;
    if (op != Op::scatter && op != Op::scatter_axis) continue;
    for (AxisId axis : axes_of(kernel, value.operands[0]))
      found[axis] = true;
  }
  return found;
}

// Where the outermost axis cannot be open, another one is only for what would take long to be proved at its
// own size: code of a fixed size is as good, and loops over few elements are better.
void open_axes(Kernel& kernel, OpenAxes open, const std::vector<bool>& closed) {
  constexpr int64_t soon_proved = int64_t{1} << 20;
  int64_t work = 1;
  for (const auto& axis : kernel.axes)
    work = std::min(2 * soon_proved, work * std::max<int64_t>(axis.size, 1));
  const bool tries_all = open == OpenAxes::all || work > soon_proved;
  const size_t tried = tries_all ? kernel.axes.size() : std::min<size_t>(1, kernel.axes.size());
  for (size_t axis = 0; axis < tried; ++axis) {
    if (!closed[axis]) open_axis(kernel, static_cast<AxisId>(axis));
    if (open == OpenAxes::outermost && kernel.axes[axis].dynamic) return;
  }
}

// The budget in units of the output dtype: every op on the longest chain may be an ulp off, functions four.
// What reassociated sums of ill-conditioned data lose beyond that is judged against MLX eager's own error by
// the gate.
void state_numerics(Kernel& kernel) {
  std::vector<double> depth(kernel.values.size(), 0);
  double deepest = 0;
  for (size_t i = 0; i < kernel.values.size(); ++i) {
    for (auto& operand : kernel.values[i].operands)
      if (operand.kind == KernelOperand::Kind::value) depth[i] = std::max(depth[i], depth[operand.id]);
    depth[i] += 1;
    deepest = std::max(deepest, depth[i]);
  }
  kernel.numerics.ulp = 2 + std::ceil(deepest);
}

}  // namespace

Result<Kernel> lower(const Graph& graph, const Region& region, const LowerOptions& options) {
  std::vector<NodeId> computed;
  for (NodeId id : region.nodes)
    if (class_of(graph.nodes[id].op) != OpClass::view) computed.push_back(id);
  auto traced = trace(graph, computed, region.outputs);
  if (auto* refusal = std::get_if<Refusal>(&traced))
    return Diagnostic{"lower", "not-legal", "the region is not one kernel: " + refusal->reason, {}, ""};
  auto& found = std::get<Trace>(traced);
  auto sorted = [](std::vector<ValueId> values) {
    std::sort(values.begin(), values.end());
    return values;
  };
  if (sorted(found.inputs) != sorted(region.inputs))
    return Diagnostic{"lower", "other-inputs", "the region reads other inputs than it states", {}, ""};
  Kernel kernel = canonical_order(write_statements(graph, region, found));
  open_axes(kernel, options.open, written_down(graph, kernel));
  choose_aliases(kernel);
  state_numerics(kernel);
  kernel.numerics.wide = options.wide && has_halves(kernel);
  if (auto errors = verify(kernel); !errors.empty()) return errors;
  return kernel;
}

}  // namespace autoperfect

#include "lower/lower.h"

#include <algorithm>
#include <cmath>

#include "fuse/trace.h"
#include "ir/alias.h"
#include "ir/canonical_order.h"
#include "ir/widened.h"
#include "lower/open_axes.h"
#include "lower/statements.h"

namespace autoperfect {
namespace {

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

#include "generate/schedule/passes.h"

#include <algorithm>

#include "cost/weight.h"
#include "generate/schedule/access.h"
#include "generate/schedule/online.h"

namespace autoperfect::schedule {
namespace {

// Dearer than writing a value to the cache and reading it again.
bool is_costly(Op op) {
  return weight_of(op) >= Weight::division;
}

class PassFinder {
 public:
  PassFinder(const Kernel& kernel, const Nest& nest) : kernel_(kernel), nest_(nest) {}

  Passes run(Keep keep, Sums sums) {
    size_t n = kernel_.values.size();
    passes_.online = sums == Sums::online ? online_sums(kernel_) : std::vector<int>(n, -1);
    passes_.ready.assign(n, 0);
    passes_.varies.assign(n, false);
    passes_.kept_in.assign(n, -1);
    costly_.assign(n, false);
    for (size_t v = 0; v < n; ++v)
      classify(static_cast<int>(v));
    passes_.reductions.resize(passes_.count);
    passes_.outputs.resize(passes_.count);
    for (size_t v = 0; v < n; ++v) {
      auto& value = kernel_.values[v];
      if (is_reduction(value)) passes_.reductions[passes_.ready[v] - 1].push_back(static_cast<int>(v));
      if (value.output >= 0 && passes_.varies[v])
        passes_.outputs[passes_.ready[v]].push_back(static_cast<int>(v));
    }
    if (keep != Keep::nothing) choose_kept(keep);
    return std::move(passes_);
  }

 private:
  bool loops_over(AxisId axis) const {
    int group = nest_.group_of(axis);
    if (group < 0) return false;
    return (group == nest_.vector_group && !nest_.columns()) ||
           std::find(nest_.inner_groups.begin(), nest_.inner_groups.end(), group) != nest_.inner_groups.end();
  }
  void classify(int v);
  void choose_kept(Keep keep);
  void walk(int v, int sweep, Keep keep, std::vector<int>& first_sweep, std::vector<bool>& seen);

  const Kernel& kernel_;
  const Nest& nest_;
  Passes passes_;
  std::vector<bool> costly_;
};

void PassFinder::classify(int v) {
  auto& value = kernel_.values[v];
  bool costly = is_costly(value.op) || is_scan(value);
  for (auto& operand : swept_operands(kernel_, passes_, v))
    for (KernelValueId needed : values_in(operand)) {
      passes_.ready[v] = std::max(passes_.ready[v], passes_.ready[needed]);
      costly = costly || (passes_.varies[needed] && costly_[needed]);
    }
  passes_.varies[v] =
      std::any_of(value.axes.begin(), value.axes.end(), [&](AxisId a) { return loops_over(a); });
  costly_[v] = costly && passes_.varies[v];
  if (is_reduction(value)) passes_.ready[v] += 1;
  bool sweeps = is_reduction(value) || (passes_.varies[v] && value.output >= 0);
  if (sweeps) passes_.count = std::max(passes_.count, passes_.ready[v] + (is_reduction(value) ? 0 : 1));
}

// Values a later sweep would compute again: written to a scratch row by the sweep that computes them first.
void PassFinder::choose_kept(Keep keep) {
  std::vector<int> first_sweep(kernel_.values.size(), -1);
  for (int sweep = 0; sweep < passes_.count; ++sweep) {
    std::vector<bool> seen(kernel_.values.size(), false);
    for (int r : passes_.reductions[sweep])
      for (auto& operand : swept_operands(kernel_, passes_, r))
        for (KernelValueId needed : values_in(operand))
          walk(needed, sweep, keep, first_sweep, seen);
    for (int v : passes_.outputs[sweep])
      walk(v, sweep, keep, first_sweep, seen);
  }
  for (size_t v = 0; v < kernel_.values.size(); ++v)
    if (passes_.kept_in[v] >= 0) passes_.kept.push_back(static_cast<int>(v));
}

void PassFinder::walk(int v, int sweep, Keep keep, std::vector<int>& first_sweep, std::vector<bool>& seen) {
  if (!passes_.varies[v] || seen[v]) return;
  seen[v] = true;
  Dtype dtype = kernel_.values[v].dtype;
  bool fits = dtype == Dtype::f32 || is_half(dtype);
  fits = fits && nest_.along_lanes(kernel_.values[v]);
  bool again = first_sweep[v] >= 0 && first_sweep[v] < sweep;
  if (again && fits && (keep == Keep::everything || costly_[v])) {
    passes_.kept_in[v] = first_sweep[v];
    return;
  }
  if (first_sweep[v] < 0) first_sweep[v] = sweep;
  for (auto& operand : kernel_.values[v].operands)
    for (KernelValueId needed : values_in(operand))
      walk(needed, sweep, keep, first_sweep, seen);
}

}  // namespace

bool is_reduction(const KernelValue& value) {
  return class_of(value.op) == OpClass::reduction || value.op == Op::matmul;
}

bool is_scan(const KernelValue& value) {
  return class_of(value.op) == OpClass::scan;
}

Passes find_passes(const Kernel& kernel, const Nest& nest, Keep keep, Sums sums) {
  return PassFinder(kernel, nest).run(keep, sums);
}

std::span<const KernelOperand> swept_operands(const Kernel& kernel, const Passes& passes, int value) {
  const int difference = passes.online[value];
  if (difference < 0) return kernel.values[value].operands;
  return std::span(kernel.values[difference].operands).first(1);
}

}  // namespace autoperfect::schedule

// Indices of loads and stores: invariants 6 and 7 of verify_kernel.cpp.
#include <fmt/format.h>

#include "ir/affine.h"
#include "ir/kernel_verifier.h"

namespace autoperfect::kernel_verifier {

namespace {

constexpr int64_t farthest_index = int64_t{1} << 60;

// One spelling for one map: terms ascend and none is 0.
bool is_normal(const Affine& affine) {
  for (size_t i = 0; i < affine.terms.size(); ++i) {
    if (affine.terms[i].second == 0) return false;
    if (i > 0 && affine.terms[i].first <= affine.terms[i - 1].first) return false;
  }
  return true;
}

bool check_dynamic_index(
    Findings& findings, const KernelValue& value, const Buffer& buffer, const Affine& affine, size_t d) {
  AxisId size_axis = d < buffer.dynamic_dims.size() ? buffer.dynamic_dims[d] : -1;
  bool uses_dynamic = size_axis >= 0;
  for (const auto& term : affine.terms)
    uses_dynamic |= findings.kernel.axes[term.first].dynamic;
  if (!uses_dynamic || affine == Affine{0, {{size_axis, 1}}}) return true;
  auto message = fmt::format("dimension {} of %{} is not indexed by its dynamic axis alone", d, buffer.name);
  findings.report("dynamic-index", message, value.where, "a dynamic axis i indexes only dimensions ?i, as i");
  return false;
}

// A guarded index may leave the buffer, but not the numbers a program counts in.
bool check_bounds(
    Findings& findings, const KernelValue& value, const Buffer& buffer, const KernelOperand& load, size_t d) {
  for (auto axes : {&value.axes, &value.reduced}) {
    for (auto axis : *axes) {
      if (findings.kernel.axes[axis].size <= 0) return true;  // nothing is computed
    }
  }
  const auto& affine = load.index[d];
  if (load.guarded) {
    if (in_bounds(affine, findings.kernel.axes, -farthest_index, farthest_index)) return true;
    findings.report("out-of-bounds", fmt::format("index {} of %{} overflows", d, buffer.name), value.where);
    return false;
  }
  if (in_bounds(affine, findings.kernel.axes, 0, buffer.type.shape[d])) return true;
  auto message = fmt::format("index {} of %{} leaves 0 to {}", d, buffer.name, buffer.type.shape[d] - 1);
  bool loads = load.kind == KernelOperand::Kind::load;
  findings.report(
      "out-of-bounds", message, value.where, loads ? "a load may be guarded: %x[i-1] else 0.0" : "");
  return false;
}

// A value of indices: of integers, of a dimension that has some element at any size.
bool check_gathered(
    Findings& findings, KernelValueId v, const Buffer& buffer, const KernelOperand& load, size_t d) {
  const auto& value = findings.kernel.values[v];
  if (!check_used_value(findings, v, load.gathered[d])) return false;
  const auto& id = findings.kernel.values[load.gathered[d]];
  if (!is_integer(id.dtype)) {
    auto message = fmt::format("%{} is {}, not an index", id.name, name(id.dtype));
    findings.report("index-dtype", message, value.where, "indices are integers");
  }
  if (load.index[d] != Affine{}) {
    findings.report("bad-index", "a gathered dimension has an affine index, too", value.where);
  }
  if (d < buffer.dynamic_dims.size() && buffer.dynamic_dims[d] >= 0) {
    auto message = fmt::format("dimension {} of %{} is dynamic and gathered", d, buffer.name);
    findings.report(
        "dynamic-index", message, value.where, "a dynamic axis i indexes only dimensions ?i, as i");
  }
  if (buffer.type.shape[d] == 0) {
    auto message = fmt::format("dimension {} of %{} is gathered but has no element", d, buffer.name);
    findings.report("empty-gather", message, value.where);
  }
  return true;
}

}  // namespace

bool check_index(
    Findings& findings,
    const KernelValue& value,
    KernelValueId v,
    const Buffer& buffer,
    const KernelOperand& load) {
  if (load.index.size() != buffer.type.shape.size() ||
      (load.gathers() && load.gathered.size() != load.index.size())) {
    auto message =
        fmt::format("%{} has {} dimensions, not {}", buffer.name, buffer.type.rank(), load.index.size());
    findings.report("rank-mismatch", message, value.where);
    return false;
  }
  for (size_t d = 0; d < load.index.size(); ++d) {
    if (load.gathers() && load.gathered[d] != -1) {
      if (!check_gathered(findings, v, buffer, load, d)) return false;
      continue;
    }
    if (!is_normal(load.index[d])) {
      findings.report("bad-index", "an index has terms of coefficient 0 or not in order", value.where);
      return false;
    }
    for (const auto& term : load.index[d].terms) {
      if (!check_operand_axis(findings, value, term.first)) return false;
    }
    if (!check_dynamic_index(findings, value, buffer, load.index[d], d) ||
        !check_bounds(findings, value, buffer, load, d))
      return false;
  }
  return true;
}

bool check_load(Findings& findings, KernelValueId v, const KernelOperand& load) {
  if (!findings.buffer_exists(load.id) || findings.kernel.buffers[load.id].role != BufferRole::in) {
    const auto& value = findings.kernel.values[v];
    findings.report("not-an-input", fmt::format("%{} loads from what is no input", value.name), value.where);
    return false;
  }
  check_index(findings, findings.kernel.values[v], v, findings.kernel.buffers[load.id], load);
  return true;
}

}  // namespace autoperfect::kernel_verifier

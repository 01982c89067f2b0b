// What a value reads and where it is stored: invariants 5 to 9 of verify_kernel.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/affine.h"
#include "ir/infer_dtype.h"
#include "ir/kernel_verifier.h"
#include "ir/shape.h"

namespace autoperfect::kernel_verifier {

namespace {

bool is_representable(double literal, Dtype dtype) {
  if (dtype == Dtype::bool_) return literal == 0 || literal == 1;
  if (!is_integer(dtype)) return true;
  if (literal != std::trunc(literal)) return false;  // NaN too
  double bits = static_cast<double>(8 * size_of(dtype));
  double limit = std::min(std::exp2(is_signed_integer(dtype) ? bits - 1 : bits), std::exp2(53));
  double lowest = is_signed_integer(dtype) ? -limit : 0;
  return literal >= lowest && (literal < limit || (limit == std::exp2(53) && literal == limit));
}

// One spelling for one map: terms ascend and none is 0.
bool is_normal(const Affine& affine) {
  for (size_t i = 0; i < affine.terms.size(); ++i) {
    if (affine.terms[i].second == 0) return false;
    if (i > 0 && affine.terms[i].first <= affine.terms[i - 1].first) return false;
  }
  return true;
}

bool varies_over(const KernelValue& value, AxisId axis) {
  return contains(value.axes, axis) || contains(value.reduced, axis);
}

bool check_operand_axis(Findings& findings, const KernelValue& value, AxisId axis) {
  if (!findings.axis_exists(axis)) {
    findings.report("unknown-axis", fmt::format("an operand of %{} names no axis", value.name), value.where);
    return false;
  }
  if (varies_over(value, axis)) return true;
  auto message =
      fmt::format("%{} does not vary over {}, its operand does", value.name, findings.kernel.axes[axis].name);
  findings.report(
      "operand-axes", message, value.where, "operands vary over the value's axes and its reduced axes");
  return false;
}

bool check_dynamic_index(
    Findings& findings,
    const KernelValue& value,
    const Buffer& buffer,
    const std::vector<Affine>& index,
    size_t d) {
  AxisId size_axis = d < buffer.dynamic_dims.size() ? buffer.dynamic_dims[d] : -1;
  bool uses_dynamic = size_axis >= 0;
  for (const auto& term : index[d].terms)
    uses_dynamic |= findings.kernel.axes[term.first].dynamic;
  if (!uses_dynamic || index[d] == Affine{0, {{size_axis, 1}}}) return true;
  auto message = fmt::format("dimension {} of %{} is not indexed by its dynamic axis alone", d, buffer.name);
  findings.report("dynamic-index", message, value.where, "a dynamic axis i indexes only dimensions ?i, as i");
  return false;
}

bool check_bounds(
    Findings& findings, const KernelValue& value, const Buffer& buffer, const Affine& affine, size_t d) {
  for (auto axes : {&value.axes, &value.reduced}) {
    for (auto axis : *axes) {
      if (findings.kernel.axes[axis].size <= 0) return true;  // nothing is computed
    }
  }
  if (in_bounds(affine, findings.kernel.axes, buffer.type.shape[d])) return true;
  auto message = fmt::format("index {} of %{} leaves 0 to {}", d, buffer.name, buffer.type.shape[d] - 1);
  findings.report("out-of-bounds", message, value.where);
  return false;
}

// One affine map a dimension, in bounds; dynamic axes only where they are the size. Whether that holds.
bool check_index(
    Findings& findings, const KernelValue& value, const Buffer& buffer, const std::vector<Affine>& index) {
  if (index.size() != buffer.type.shape.size()) {
    auto message =
        fmt::format("%{} has {} dimensions, not {}", buffer.name, buffer.type.rank(), index.size());
    findings.report("rank-mismatch", message, value.where);
    return false;
  }
  for (size_t d = 0; d < index.size(); ++d) {
    if (!is_normal(index[d])) {
      findings.report("bad-index", "an index has terms of coefficient 0 or not in order", value.where);
      return false;
    }
    for (const auto& term : index[d].terms) {
      if (!check_operand_axis(findings, value, term.first)) return false;
    }
    if (!check_dynamic_index(findings, value, buffer, index, d) ||
        !check_bounds(findings, value, buffer, index[d], d))
      return false;
  }
  return true;
}

bool check_load(Findings& findings, const KernelValue& value, const KernelOperand& operand) {
  if (!findings.buffer_exists(operand.id) || findings.kernel.buffers[operand.id].role != BufferRole::in) {
    findings.report("not-an-input", fmt::format("%{} loads from what is no input", value.name), value.where);
    return false;
  }
  check_index(findings, value, findings.kernel.buffers[operand.id], operand.index);
  return true;
}

}  // namespace

// Whether dtype rules can be looked at.
bool check_operand(Findings& findings, KernelValueId v, int i) {
  const auto& value = findings.kernel.values[v];
  const auto& operand = value.operands[i];
  switch (operand.kind) {
    case KernelOperand::Kind::value:
      if (operand.id < 0 || operand.id >= v) {
        findings.report(
            "use-before-definition",
            fmt::format("%{} uses a value that is not above it", value.name),
            value.where);
        return false;
      }
      for (auto axis : findings.kernel.values[operand.id].axes) {
        if (!check_operand_axis(findings, value, axis)) break;
      }
      return true;
    case KernelOperand::Kind::load:
      return check_load(findings, value, operand);
    case KernelOperand::Kind::iota:
      check_operand_axis(findings, value, operand.id);
      return true;
    case KernelOperand::Kind::literal:
      if (class_of(value.op) == OpClass::reduction) {
        findings.report("literal-operand", fmt::format("'{}' of a literal", name(value.op)), value.where);
      }
      return true;
  }
  return false;
}

void check_dtypes(Findings& findings, const KernelValue& value) {
  std::vector<Dtype> dtypes;
  for (size_t i = 0; i < value.operands.size(); ++i) {
    dtypes.push_back(operand_dtype(findings.kernel, value, static_cast<int>(i)));
    const auto& operand = value.operands[i];
    if (operand.kind != KernelOperand::Kind::literal || is_representable(operand.literal, dtypes[i]))
      continue;
    auto message = fmt::format("literal {} is not a value of {}", operand.literal, name(dtypes[i]));
    findings.report("literal-dtype", message, value.where);
  }
  if (value.op == Op::cast) return;
  auto inferred = infer_dtype(value.op, dtypes);
  if (!inferred) {
    for (auto diagnostic : inferred.errors()) {
      diagnostic.where = value.where;
      findings.found.push_back(std::move(diagnostic));
    }
  } else if (*inferred != value.dtype) {
    auto message = fmt::format(
        "%{} is declared {}, but '{}' gives {}",
        value.name,
        name(value.dtype),
        name(value.op),
        name(*inferred));
    findings.report("type-mismatch", message, value.where);
  }
}

void check_store(Findings& findings, const KernelValue& value) {
  if (!findings.buffer_exists(value.output) ||
      findings.kernel.buffers[value.output].role != BufferRole::out) {
    findings.report(
        "not-an-output", fmt::format("%{} is stored to what is no output", value.name), value.where);
    return;
  }
  const auto& buffer = findings.kernel.buffers[value.output];
  if (value.name != buffer.name) {
    findings.report("output-name", fmt::format("%{} is stored to %{}", value.name, buffer.name), value.where);
  }
  if (value.dtype != buffer.type.dtype) {
    auto message =
        fmt::format("%{} is {}, its buffer {}", value.name, name(value.dtype), name(buffer.type.dtype));
    findings.report("type-mismatch", message, value.where);
  }
  // A store is indexed by the value's own axes, not by those it reduced.
  KernelValue target = value;
  target.reduced.clear();
  if (!checked_elements(buffer.type.shape) || !check_index(findings, target, buffer, value.store)) return;
  if (covers(value.store, value.axes, findings.kernel.axes, buffer.type.shape)) return;
  auto message = fmt::format("the store map of %{} does not reach every element exactly once", value.name);
  findings.report(
      "incomplete-store", message, value.where, "it is a bijection of the value's axes onto the buffer");
}

}  // namespace autoperfect::kernel_verifier

// What a value reads and where it is stored: invariants 5 to 8, and of 9 what concerns one store, of
// verify_kernel.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

bool varies_over(const KernelValue& value, AxisId axis) {
  return contains(value.axes, axis) || contains(value.reduced, axis);
}

}  // namespace

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

bool check_used_value(Findings& findings, KernelValueId v, KernelValueId used) {
  const auto& value = findings.kernel.values[v];
  if (used < 0 || used >= v) {
    findings.report(
        "use-before-definition",
        fmt::format("%{} uses a value that is not above it", value.name),
        value.where);
    return false;
  }
  const auto& operand = findings.kernel.values[used];
  if (findings.buffer_exists(operand.output) && findings.parts[operand.output] > 1) {
    findings.report(
        "part-as-operand",
        fmt::format("%{} uses %{}, which is stored in parts", value.name, operand.name),
        value.where,
        "give what it needs a name of its own: %t[i] = ..., %y[i] = copy %t[i]");
  }
  for (auto axis : operand.axes) {
    if (!check_operand_axis(findings, value, axis)) break;
  }
  return true;
}

// Whether dtype rules can be looked at.
bool check_operand(Findings& findings, KernelValueId v, int i) {
  const auto& value = findings.kernel.values[v];
  const auto& operand = value.operands[i];
  switch (operand.kind) {
    case KernelOperand::Kind::value:
      return check_used_value(findings, v, operand.id);
    case KernelOperand::Kind::load:
      return check_load(findings, v, operand);
    case KernelOperand::Kind::iota:
      check_operand_axis(findings, value, operand.id);
      return true;
    case KernelOperand::Kind::literal:
      if (class_of(value.op) != OpClass::elementwise && value.op != Op::matmul) {
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
    bool has_literal = operand.kind == KernelOperand::Kind::literal || operand.guarded;
    if (!has_literal || is_representable(operand.literal, dtypes[i])) continue;
    auto message = fmt::format("literal {} is not a value of {}", operand.literal, name(dtypes[i]));
    findings.report("literal-dtype", message, value.where);
  }
  if (value.op == Op::cast) return;
  if (value.op == Op::matmul && dtypes[0] == Dtype::c64) {
    findings.report("dtype-not-allowed", "a kernel contracts no complex numbers", value.where);
    return;
  }
  auto inferred = infer_dtype(value.op, dtypes);
  if (!inferred) {
    for (const auto& diagnostic : inferred.errors()) {
      findings.report(diagnostic.code.c_str(), diagnostic.message, value.where, diagnostic.hint);
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

void check_store(Findings& findings, KernelValueId v) {
  const auto& value = findings.kernel.values[v];
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
  if (checked_elements(buffer.type.shape)) {
    KernelOperand place;
    place.index = value.store;
    check_index(findings, target, v, buffer, place);
  }
}

}  // namespace autoperfect::kernel_verifier

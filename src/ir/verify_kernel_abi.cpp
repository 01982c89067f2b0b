// Buffers: invariants 2 and 11 of verify_kernel.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/alias.h"
#include "ir/kernel_verifier.h"
#include "ir/layout.h"
#include "ir/shape.h"

namespace autoperfect::kernel_verifier {

namespace {

constexpr int64_t most_align = 4096;

AxisId size_axis(const Buffer& buffer, size_t d) {
  return d < buffer.dynamic_dims.size() ? buffer.dynamic_dims[d] : -1;
}

void check_order(Findings& findings, size_t b) {
  const auto& buffers = findings.kernel.buffers;
  if (b == 0 || buffers[b - 1].role <= buffers[b].role) return;
  auto message = fmt::format("%{} comes too late", buffers[b].name);
  findings.report("buffer-order", message, buffers[b].where);
}

bool check_dynamic_dims(Findings& findings, const Buffer& buffer) {
  const auto& axes = findings.kernel.axes;
  if (!buffer.dynamic_dims.empty() && buffer.dynamic_dims.size() != buffer.type.shape.size()) {
    auto message = fmt::format("%{} needs one entry a dimension", buffer.name);
    findings.report("dynamic-dimension", message, buffer.where);
    return false;
  }
  for (size_t d = 0; d < buffer.dynamic_dims.size(); ++d) {
    auto axis = buffer.dynamic_dims[d];
    if (axis == -1) continue;
    if (findings.axis_exists(axis) && axes[axis].dynamic && axes[axis].size == buffer.type.shape[d]) continue;
    auto message = fmt::format("dimension {} of %{} is not the size of a dynamic axis", d, buffer.name);
    findings.report("dynamic-dimension", message, buffer.where);
    return false;
  }
  return true;
}

// Whether the strides say what `row` says, at any size of the dynamic axes.
bool spells_row(const Buffer& buffer) {
  int64_t step = 1;
  for (size_t d = buffer.type.shape.size(); d-- > 0; step *= buffer.type.shape[d]) {
    if (buffer.layout.strides[d] != step) return false;
    if (size_axis(buffer, d) >= 0) return d == 0;
  }
  return true;
}

// Of a dynamic dimension the reach is not known: it must not be backwards.
bool reaches_well(const Buffer& buffer) {
  Buffer known = buffer;
  for (size_t d = 0; d < buffer.layout.strides.size(); ++d) {
    if (buffer.layout.strides[d] == free_stride) known.layout.strides[d] = 0;
    if (size_axis(buffer, d) < 0) continue;
    if (known.layout.strides[d] < 0) return false;
    known.type.shape[d] = std::min<int64_t>(1, buffer.type.shape[d]);
  }
  return span_of(known).has_value();
}

void check_layout(Findings& findings, const Buffer& buffer) {
  const auto& layout = buffer.layout;
  if (buffer.role != BufferRole::in && !is_row(buffer)) {
    findings.report(
        "layout-of-result", fmt::format("%{} is no input, and not row-major", buffer.name), buffer.where);
    return;
  }
  if (!layout.strides.empty() && layout.strides.size() != buffer.type.shape.size()) {
    auto message = fmt::format(
        "%{} has {} dimensions and {} strides", buffer.name, buffer.type.rank(), layout.strides.size());
    findings.report("strides-count", message, buffer.where);
    return;
  }
  if (!layout.strides.empty() && spells_row(buffer))
    findings.report(
        "row-strides", fmt::format("the strides of %{} are those of row", buffer.name), buffer.where);
  if (!reaches_well(buffer)) {
    auto message = fmt::format("%{} reaches before its pointer, or too far", buffer.name);
    findings.report("layout-reach", message, buffer.where);
  }
}

void check_alignment(Findings& findings, const Buffer& buffer) {
  const int64_t align = buffer.layout.align;
  if (align == 0) return;
  bool is_power = align > 0 && std::has_single_bit(static_cast<uint64_t>(align));
  if (is_power && align >= size_of(buffer.type.dtype) && align <= most_align) return;
  auto message = fmt::format("%{} cannot be aligned to {} bytes", buffer.name, align);
  findings.report("bad-align", message, buffer.where);
}

}  // namespace

void check_abi(Findings& findings, BufferId b) {
  const auto& buffer = findings.kernel.buffers[b];
  check_order(findings, static_cast<size_t>(b));
  check_alignment(findings, buffer);
  if (!checked_elements(buffer.type.shape)) {
    auto message = fmt::format("%{} has an impossible shape", buffer.name);
    findings.report("shape-too-large", message, buffer.where);
    return;
  }
  if (check_dynamic_dims(findings, buffer)) check_layout(findings, buffer);
}

void check_alias(Findings& findings, BufferId b) {
  const auto& buffers = findings.kernel.buffers;
  const auto& buffer = buffers[b];
  if (buffer.alias == -1) return;
  bool exists = findings.buffer_exists(buffer.alias) && buffers[buffer.alias].role == BufferRole::in;
  if (!exists || buffer.role != BufferRole::out) {
    auto message = fmt::format("%{} takes the memory of what is no input, or is no output", buffer.name);
    findings.report("bad-alias", message, buffer.where);
    return;
  }
  const auto& input = buffers[buffer.alias];
  bool is_taken = std::any_of(
      buffers.begin(), buffers.begin() + b, [&](const Buffer& other) { return other.alias == buffer.alias; });
  if (is_taken) {
    auto message = fmt::format("another output takes the memory of %{}", input.name);
    findings.report("alias-twice", message, buffer.where);
  } else if (findings.found.empty() && !may_alias(findings.kernel, b, buffer.alias)) {
    auto message = fmt::format("%{} cannot take the memory of %{}", buffer.name, input.name);
    findings.report("alias-hazard", message, buffer.where);
  }
}

}  // namespace autoperfect::kernel_verifier

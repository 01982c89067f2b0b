// The parts of verify(Kernel): what was found so far, and the checks of a value's operands and store.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "ir/kernel_invariants.h"

namespace autoperfect::kernel_verifier {

struct Findings {
  const Kernel& kernel;
  std::vector<Diagnostic> found = {};
  std::vector<int> parts = std::vector<int>(kernel.buffers.size(), 0);  // values stored to each buffer

  void report(const char* code, std::string message, Where where = {}, std::string hint = "") {
    const auto& invariant = kernel_invariant(code);
    if (hint.empty()) hint = invariant.hint;
    found.push_back({"ir", code, std::move(message), where, std::move(hint)});
  }
  bool axis_exists(AxisId a) const { return a >= 0 && static_cast<size_t>(a) < kernel.axes.size(); }
  bool buffer_exists(BufferId b) const { return b >= 0 && static_cast<size_t>(b) < kernel.buffers.size(); }
};

inline bool contains(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// The axes of the value itself, number `v`, were found right before. Each tells whether what comes after it
// can be looked at.
bool check_operand(Findings& findings, KernelValueId v, int i);  // its dtype rules
bool check_operand_axis(Findings& findings, const KernelValue& value, AxisId axis);
bool check_used_value(Findings& findings, KernelValueId v, KernelValueId used);
bool check_load(Findings& findings, KernelValueId v, const KernelOperand& load);
bool check_index(
    Findings& findings,
    const KernelValue& value,
    KernelValueId v,
    const Buffer& buffer,
    const KernelOperand& load);
void check_abi(Findings& findings, BufferId b);    // shape, dynamic dimensions, layout
void check_alias(Findings& findings, BufferId b);  // once all values were looked at
void check_dtypes(Findings& findings, const KernelValue& value);
void check_store(Findings& findings, KernelValueId v);

}  // namespace autoperfect::kernel_verifier

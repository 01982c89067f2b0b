#include "generate/schedule/unroll.h"

#include <algorithm>

namespace autoperfect::schedule {
namespace {

class Unroller {
 public:
  Unroller(const Kernel& kernel, AxisId axis)
      : kernel_(kernel), axis_(axis), positions_(kernel.axes[axis].size), unrolled_(kernel) {
    unrolled_.values.clear();
  }

  Kernel run() {
    for (auto& value : kernel_.values) {
      auto found = std::find(value.axes.begin(), value.axes.end(), axis_);
      bool varies = found != value.axes.end();
      std::vector<KernelValueId> copies;
      for (int64_t at = 0; at < (varies ? positions_ : 1); ++at) {
        copies.push_back(static_cast<KernelValueId>(unrolled_.values.size()));
        unrolled_.values.push_back(value_at(value, at));
      }
      copies_.push_back(std::move(copies));
    }
    return std::move(unrolled_);
  }

 private:
  void fix(std::vector<Affine>& index, int64_t at) const {
    for (auto& affine : index) {
      auto term = std::find_if(
          affine.terms.begin(), affine.terms.end(), [&](const auto& t) { return t.first == axis_; });
      if (term == affine.terms.end()) continue;
      affine.offset += term->second * at;
      affine.terms.erase(term);
    }
  }

  KernelValueId copy_of(KernelValueId v, int64_t at) const {
    auto& copies = copies_[v];
    return copies.size() == 1 ? copies[0] : copies[at];
  }

  KernelOperand operand_at(KernelOperand operand, int64_t at) const {
    fix(operand.index, at);
    for (auto& v : operand.gathered)
      if (v >= 0) v = copy_of(v, at);
    if (operand.kind == KernelOperand::Kind::value) operand.id = copy_of(operand.id, at);
    if (operand.kind == KernelOperand::Kind::iota && operand.id == axis_) {
      operand = {};
      operand.kind = KernelOperand::Kind::literal;
      operand.literal = static_cast<double>(at);
    }
    return operand;
  }

  KernelValue value_at(KernelValue value, int64_t at) const {
    std::erase(value.axes, axis_);
    fix(value.store, at);
    for (auto& operand : value.operands)
      operand = operand_at(operand, at);
    return value;
  }

  const Kernel& kernel_;
  AxisId axis_;
  int64_t positions_;
  Kernel unrolled_;
  std::vector<std::vector<KernelValueId>> copies_;  // per value of before
};

}  // namespace

Kernel unroll_axis(const Kernel& kernel, AxisId axis) {
  return Unroller(kernel, axis).run();
}

}  // namespace autoperfect::schedule

#include "ir/widened.h"

#include <algorithm>
#include <unordered_set>

#include "ir/scalar_semantics.h"

namespace autoperfect {

namespace {

Dtype wide_of(Dtype dtype) {
  return is_half(dtype) ? Dtype::f32 : dtype;
}

class Widening {
 public:
  explicit Widening(const Kernel& narrow) : narrow_(narrow) {
    wide_.name = narrow.name;
    wide_.buffers = narrow.buffers;
    wide_.axes = narrow.axes;
    wide_.numerics = narrow.numerics;
    wide_.numerics.wide = false;
    for (const auto& buffer : narrow.buffers)
      names_.insert(buffer.name);
    for (const auto& value : narrow.values)
      names_.insert(value.name);
  }

  Kernel run() {
    for (const auto& value : narrow_.values)
      add(value);
    return std::move(wide_);
  }

 private:
  void add(const KernelValue& narrow) {
    KernelValue value = narrow;
    value.dtype = wide_of(narrow.dtype);
    for (size_t i = 0; i < narrow.operands.size(); ++i)
      value.operands[i] = operand(narrow, static_cast<int>(i));
    if (value.op == Op::cast && operand_dtype(wide_, value, 0) == value.dtype) value.op = Op::copy;
    if (!is_half(narrow.dtype) || narrow.output < 0) return keep(push(std::move(value)));
    value.name = fresh_name(narrow.name + "_wide");
    value.output = -1;
    value.store.clear();
    const KernelValueId unrounded = push(std::move(value));
    KernelValue stored;
    stored.name = narrow.name;
    stored.op = Op::cast;
    stored.dtype = narrow.dtype;
    stored.axes = narrow.axes;
    stored.operands = {value_operand(unrounded)};
    stored.output = narrow.output;
    stored.store = narrow.store;
    stored.where = narrow.where;
    push(std::move(stored));
    keep(unrounded);
  }

  void keep(KernelValueId id) { ids_.push_back(id); }

  KernelOperand operand(const KernelValue& narrow, int i) {
    KernelOperand operand = narrow.operands[i];
    for (auto& id : operand.gathered)
      id = id < 0 ? id : ids_[id];
    switch (operand.kind) {
      case KernelOperand::Kind::value:
        operand.id = ids_[operand.id];
        return operand;
      case KernelOperand::Kind::literal:
        // It is a value of the narrow dtype.
        if (is_half(operand_dtype(narrow_, narrow, i)))
          operand.literal = round_to(operand_dtype(narrow_, narrow, i), operand.literal);
        return operand;
      case KernelOperand::Kind::load:
        return is_half(narrow_.buffers[operand.id].type.dtype) ? converted(operand) : operand;
      default:
        return operand;
    }
  }

  // A load in f32, once.
  KernelOperand converted(const KernelOperand& load) {
    for (const auto& [known, id] : loads_)
      if (known == load) return value_operand(id);
    KernelValue value;
    value.name = fresh_name(narrow_.buffers[load.id].name + "_wide");
    value.op = Op::cast;
    value.dtype = Dtype::f32;
    value.axes = axes_of(wide_, load);
    value.operands = {load};
    const KernelValueId id = push(std::move(value));
    loads_.emplace_back(load, id);
    return value_operand(id);
  }

  static KernelOperand value_operand(KernelValueId id) {
    KernelOperand operand;
    operand.id = id;
    return operand;
  }

  KernelValueId push(KernelValue value) {
    wide_.values.push_back(std::move(value));
    return static_cast<KernelValueId>(wide_.values.size()) - 1;
  }

  std::string fresh_name(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !names_.insert(name).second; ++n)
      name = wanted + "_" + std::to_string(n);
    return name;
  }

  const Kernel& narrow_;
  Kernel wide_;
  std::vector<KernelValueId> ids_;  // of the narrow kernel's values, before they are rounded
  std::vector<std::pair<KernelOperand, KernelValueId>> loads_;
  std::unordered_set<std::string> names_;
};

}  // namespace

bool has_halves(const Kernel& kernel) {
  return std::any_of(
      kernel.values.begin(), kernel.values.end(), [](const auto& value) { return is_half(value.dtype); });
}

Kernel widened(const Kernel& kernel) {
  return Widening(kernel).run();
}

}  // namespace autoperfect

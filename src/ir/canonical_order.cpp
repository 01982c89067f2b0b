#include "ir/canonical_order.h"

#include <algorithm>
#include <cstdlib>

namespace autoperfect {

namespace {

class Orderer {
 public:
  explicit Orderer(const Kernel& kernel)
      : kernel_(kernel), new_axis_(kernel.axes.size(), -1), new_value_(kernel.values.size(), -1) {}

  Kernel run() {
    for (size_t b = 0; b < kernel_.buffers.size(); ++b)
      for (auto part : parts_of(static_cast<BufferId>(b))) {
        roots_.push_back(part);
        visit(part);
      }
    note_uses();
    number_axes();
    return rebuilt();
  }

 private:
  std::vector<AxisId> all_axes() const {
    std::vector<AxisId> axes(kernel_.axes.size());
    for (size_t a = 0; a < axes.size(); ++a)
      axes[a] = static_cast<AxisId>(a);
    return axes;
  }

  // Parts are disjoint, so no two begin at the same place.
  std::vector<KernelValueId> parts_of(BufferId buffer) const {
    std::vector<KernelValueId> parts;
    for (size_t v = 0; v < kernel_.values.size(); ++v)
      if (kernel_.values[v].output == buffer) parts.push_back(static_cast<KernelValueId>(v));
    std::stable_sort(parts.begin(), parts.end(), [&](auto a, auto b) {
      auto offset = [](const Affine& x, const Affine& y) { return x.offset < y.offset; };
      const auto &s = kernel_.values[a].store, &t = kernel_.values[b].store;
      return std::lexicographical_compare(s.begin(), s.end(), t.begin(), t.end(), offset);
    });
    return parts;
  }

  // Where and how each axis is used, by the places of the values alone. Axes whose uses are the same may
  // change places, and the kernel stays what it is.
  void note_uses() {
    uses_.resize(kernel_.axes.size());
    int64_t place = 0;
    auto note_index = [&](const std::vector<Affine>& index) {
      for (const auto& affine : index) {
        ++place;
        for (auto [axis, step] : affine.terms)
          uses_[axis].insert(uses_[axis].end(), {place, step});
      }
    };
    auto note = [&](const std::vector<AxisId>& axes) {
      ++place;
      for (auto axis : axes)
        uses_[axis].insert(uses_[axis].end(), {place, 0});
    };
    for (auto v : values_) {
      const auto& value = kernel_.values[v];
      note(value.axes), note(value.reduced), note_index(value.store);
      note(value.scanned < 0 ? std::vector<AxisId>{} : std::vector{value.scanned});
      for (const auto& operand : value.operands) {
        note(operand.kind == KernelOperand::Kind::iota ? std::vector{operand.id} : std::vector<AxisId>{});
        note_index(operand.index);
      }
    }
    for (const auto& buffer : kernel_.buffers)
      for (auto axis : buffer.dynamic_dims)
        note(axis < 0 ? std::vector<AxisId>{} : std::vector{axis});
  }

  // By size, then by use.
  bool is_before(AxisId a, AxisId b) const {
    return size_of(a) != size_of(b) ? size_of(a) < size_of(b) : uses_[a] < uses_[b];
  }

  void number(AxisId axis) {
    if (axis < 0 || new_axis_[axis] >= 0) return;
    new_axis_[axis] = static_cast<AxisId>(axes_.size());
    axes_.push_back(axis);
  }

  // Longer steps come first: they are the outer digits of a dimension.
  void number(const std::vector<Affine>& index) {
    for (const auto& affine : index) {
      auto terms = affine.terms;
      std::stable_sort(terms.begin(), terms.end(), [&](const auto& a, const auto& b) {
        const auto x = std::abs(a.second), y = std::abs(b.second);
        return x != y ? x > y : is_before(a.first, b.first);
      });
      for (const auto& term : terms)
        number(term.first);
    }
  }

  // Axes that nothing indexes with.
  void number_rest(std::vector<AxisId> axes) {
    std::stable_sort(axes.begin(), axes.end(), [&](AxisId a, AxisId b) { return is_before(a, b); });
    for (auto axis : axes)
      number(axis);
  }

  int64_t size_of(AxisId axis) const { return kernel_.axes[axis].dynamic ? -1 : kernel_.axes[axis].size; }

  // As the outputs lie; then as the loads do, those of most axes first: the others only broadcast.
  void number_axes() {
    for (auto v : roots_)
      number(kernel_.values[v].store);
    std::vector<const KernelOperand*> loads;
    for (auto v : values_)
      for (const auto& operand : kernel_.values[v].operands)
        if (operand.kind == KernelOperand::Kind::load) loads.push_back(&operand);
    auto axes_in = [](const KernelOperand* load) {
      size_t count = 0;
      for (const auto& affine : load->index)
        count += affine.terms.size();
      return count;
    };
    std::stable_sort(loads.begin(), loads.end(), [&](auto* a, auto* b) { return axes_in(a) > axes_in(b); });
    for (const auto* load : loads)
      number(load->index);
    for (auto v : values_) {
      const auto& value = kernel_.values[v];
      for (const auto& operand : value.operands)
        if (operand.kind == KernelOperand::Kind::iota) number(operand.id);
      number_rest(value.axes);
      number_rest(value.reduced);
    }
    for (const auto& buffer : kernel_.buffers)
      for (auto axis : buffer.dynamic_dims)
        number(axis);
    number_rest(all_axes());
  }

  // Last first, as a stack takes them.
  void push_needed(const KernelValue& value, std::vector<std::pair<KernelValueId, bool>>& stack) const {
    for (auto operand = value.operands.rbegin(); operand != value.operands.rend(); ++operand) {
      if (operand->kind == KernelOperand::Kind::value) stack.push_back({operand->id, false});
      for (auto index = operand->gathered.rbegin(); index != operand->gathered.rend(); ++index)
        if (*index >= 0) stack.push_back({*index, false});
    }
  }

  // Depth first, without recursion: texts may be long.
  void visit(KernelValueId root) {
    std::vector<std::pair<KernelValueId, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      auto [v, is_ready] = stack.back();
      stack.pop_back();
      if (new_value_[v] >= 0) continue;
      const auto& value = kernel_.values[v];
      if (!is_ready) {
        stack.push_back({v, true});
        push_needed(value, stack);
        continue;
      }
      new_value_[v] = static_cast<KernelValueId>(values_.size());
      values_.push_back(v);
    }
  }

  std::vector<AxisId> renumbered(std::vector<AxisId> axes) const {
    for (auto& axis : axes)
      axis = new_axis_[axis];
    std::sort(axes.begin(), axes.end());
    return axes;
  }

  void renumber(std::vector<Affine>& index) const {
    for (auto& affine : index) {
      for (auto& term : affine.terms)
        term.first = new_axis_[term.first];
      std::sort(affine.terms.begin(), affine.terms.end());
    }
  }

  void renumber(KernelOperand& operand) const {
    if (operand.kind == KernelOperand::Kind::value) operand.id = new_value_[operand.id];
    if (operand.kind == KernelOperand::Kind::iota) operand.id = new_axis_[operand.id];
    renumber(operand.index);
    for (auto& index : operand.gathered)
      if (index >= 0) index = new_value_[index];
  }

  Kernel rebuilt() const {
    Kernel kernel = kernel_;
    kernel.axes.clear();
    for (auto axis : axes_)
      kernel.axes.push_back(kernel_.axes[axis]);
    for (auto& buffer : kernel.buffers)
      for (auto& axis : buffer.dynamic_dims)
        if (axis >= 0) axis = new_axis_[axis];
    kernel.values.clear();
    for (auto v : values_) {
      KernelValue value = kernel_.values[v];
      value.axes = renumbered(value.axes);
      value.reduced = renumbered(value.reduced);
      if (value.scanned >= 0) value.scanned = new_axis_[value.scanned];
      renumber(value.store);
      for (auto& operand : value.operands)
        renumber(operand);
      kernel.values.push_back(std::move(value));
    }
    return kernel;
  }

  const Kernel& kernel_;
  std::vector<AxisId> new_axis_, axes_;
  std::vector<std::vector<int64_t>> uses_;  // of each axis: places, and steps there
  std::vector<KernelValueId> new_value_, values_, roots_;
};

}  // namespace

Kernel canonical_order(const Kernel& kernel) {
  return Orderer(kernel).run();
}

}  // namespace autoperfect

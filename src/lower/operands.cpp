// What a trace demands, as operands of a kernel: values, loads, literals and positions.
#include <algorithm>

#include "fuse/legal.h"
#include "ir/affine.h"
#include "lower/statement_writer.h"

namespace autoperfect {

KernelOperand literal_operand(double number) {
  KernelOperand operand;
  operand.kind = KernelOperand::Kind::literal;
  operand.literal = number;
  return operand;
}

std::vector<AxisId> StatementWriter::axes_of(const Affine& affine) const {
  std::vector<AxisId> axes;
  for (auto& term : affine.terms)
    axes.push_back(term.first);
  return axes;
}

KernelOperand StatementWriter::operand(int id, double outside) {
  auto& demand = trace_.demands[id];
  switch (demand.kind) {
    case Demand::Kind::instance:
      return written_[demand.instance];
    case Demand::Kind::load:
      return load(demand, outside);
    case Demand::Kind::inlined:
      break;
  }
  const Node& source = *graph_.producer(demand.value);
  if (source.op == Op::constant) return literal_operand(constant_value(source));
  return arange(demand.value, demand.index.at(0).affine);
}

// Guarded where the index leaves the buffer, which it does only where nobody looks at the value.
KernelOperand StatementWriter::load(const Demand& demand, double outside) {
  KernelOperand operand;
  operand.kind = KernelOperand::Kind::load;
  operand.id = input_.at(demand.value);
  auto& shape = graph_.type(demand.value).shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    auto& index = demand.index[d];
    operand.index.push_back(index.affine);
    if (index.gathered >= 0) {
      operand.gathered.resize(shape.size(), -1);
      operand.gathered[d] = gathered_by(index.gathered);
    } else if (!in_bounds(index.affine, kernel_.axes, 0, shape[d])) {
      operand.guarded = true;
      operand.literal = outside;
    }
  }
  return operand;
}

KernelOperand StatementWriter::named(int id) {
  KernelOperand self = operand(id);
  if (self.kind == KernelOperand::Kind::value) return self;
  if (auto it = named_.find(id); it != named_.end()) {
    self = {};
    self.id = it->second;
    return self;
  }
  auto& demand = trace_.demands[id];
  std::vector<AxisId> axes;
  auto note = [&](const IndexMap& map, auto& again) -> void {
    for (auto& index : map) {
      for (auto& term : index.affine.terms)
        axes.push_back(term.first);
      if (index.gathered >= 0) again(trace_.demands[index.gathered].index, again);
    }
  };
  note(demand.index, note);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  auto& value = graph_.values[demand.value];
  bool constant = demand.kind == Demand::Kind::inlined;
  self =
      emit(constant ? value.name : value.name + "_read", Op::copy, value.type.dtype, std::move(axes), {self});
  named_[id] = self.id;
  return self;
}

KernelValueId StatementWriter::gathered_by(int id) {
  return named(id).id;
}

// The sum of the terms, in integers.
KernelOperand StatementWriter::position(const Affine& affine) {
  for (auto& [known, operand] : positions_)
    if (known == affine) return operand;
  KernelOperand sum;
  bool first = true;
  std::vector<AxisId> axes;
  for (auto [axis, coefficient] : affine.terms) {
    KernelOperand term;
    term.kind = KernelOperand::Kind::iota;
    term.id = axis;
    term = emit("at_" + kernel_.axes[axis].name, Op::copy, Dtype::i32, {axis}, {term});
    if (coefficient != 1)
      term = emit(
          "at_step", Op::mul, Dtype::i32, {axis}, {term, literal_operand(static_cast<double>(coefficient))});
    axes.push_back(axis);
    sum = first ? term : emit("at_sum", Op::add, Dtype::i32, axes, {sum, term});
    first = false;
  }
  auto offset = literal_operand(static_cast<double>(affine.offset));
  if (first) {
    sum = emit("at", Op::copy, Dtype::i32, {}, {offset});
  } else if (affine.offset != 0) {
    sum = emit("at_shifted", Op::add, Dtype::i32, axes, {sum, offset});
  }
  positions_.push_back({affine, sum});
  return sum;
}

// start + step * position, where the position may itself be an affine map of axes (a view of the arange).
KernelOperand StatementWriter::arange(ValueId arange, const Affine& position_in) {
  for (auto& known : aranges_)
    if (known.arange == arange && known.position == position_in) return known.operand;
  const Node& node = *graph_.producer(arange);
  Dtype dtype = graph_.type(arange).dtype;
  const std::string& base = graph_.values[arange].name;
  double step = node.attributes.get<double>("step");
  double start = node.attributes.get<double>("start") + step * static_cast<double>(position_in.offset);
  KernelOperand last = literal_operand(start);
  if (position_in.terms.size() == 1) {
    auto [axis, coefficient] = position_in.terms[0];
    step *= static_cast<double>(coefficient);
    last = {};
    last.kind = KernelOperand::Kind::iota;
    last.id = axis;
    // A value of its own, so that its dtype is stated.
    last = emit(base, Op::copy, dtype, {axis}, {last});
  } else if (position_in.terms.size() > 1) {
    last = position({0, position_in.terms});
    if (dtype != Dtype::i32) last = emit(base, Op::cast, dtype, axes_of(position_in), {last});
  }
  if (!position_in.terms.empty()) {
    auto axes = axes_of(position_in);
    if (step != 1) last = emit(base + "_scaled", Op::mul, dtype, axes, {last, literal_operand(step)});
    // Downwards from 0 begins with 0 * step, which is -0.0; the sum with 0.0 is what a range begins with.
    const bool begins_negative = step < 0 && is_floating(dtype);
    if (start != 0 || begins_negative)
      last = emit(base + "_shifted", Op::add, dtype, axes, {last, literal_operand(start)});
  }
  aranges_.push_back({arange, position_in, last});
  return last;
}

}  // namespace autoperfect

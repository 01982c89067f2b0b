#include <algorithm>
#include <cstring>

#include "lower/lower.h"
#include "lower/raising.h"

namespace autoperfect {

Graph Raising::run() {
  std::vector<std::vector<KernelValueId>> stores(kernel_.buffers.size());
  for (size_t v = 0; v < kernel_.values.size(); ++v) {
    if (kernel_.values[v].output >= 0)
      stores[kernel_.values[v].output].push_back(static_cast<KernelValueId>(v));
  }
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    const Buffer& buffer = kernel_.buffers[b];
    if (buffer.role == BufferRole::in) buffers_[b] = graph_.add_input(buffer.name, buffer.type);
  }
  for (const auto& value : kernel_.values) {
    const bool is_part = value.output >= 0 && stores[value.output].size() > 1;
    const bool is_plain = value.output < 0 || (!is_part && is_stored_plainly(value));
    values_.push_back(compute(value, value.name + (is_part ? "_part" : is_plain ? "" : "_kept")));
    if (is_plain) named(values_.back(), value.name);
    // An output is written as soon as it is complete.
    if (value.output < 0 || stores[value.output].back() + 1 != static_cast<KernelValueId>(values_.size()))
      continue;
    // What is computed from scalars alone has rank 0, also where its buffer has axes of size 1.
    const Shape& whole = kernel_.buffers[value.output].type.shape;
    buffers_[value.output] =
        is_plain ? reshaped(values_.back(), whole, value.name) : stored(stores[value.output]);
  }
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (kernel_.buffers[b].role != BufferRole::out) continue;
    if (buffers_[b] < 0) throw InternalError("[raise] nothing is stored to %" + kernel_.buffers[b].name);
    graph_.outputs.push_back(buffers_[b]);
  }
  return std::move(graph_);
}

Shape Raising::spread(const std::vector<AxisId>& axes) const {
  Shape shape(kernel_.axes.size(), 1);
  for (auto axis : axes)
    shape[axis] = size_of_axis(axis);
  return shape;
}

Shape Raising::sizes_of(const std::vector<AxisId>& axes) const {
  Shape shape;
  for (auto axis : axes)
    shape.push_back(size_of_axis(axis));
  return shape;
}

ValueId Raising::view(
    Op op, ValueId v, const char* attribute, std::vector<int64_t> value, const std::string& name) {
  Attributes attributes;
  attributes.set(attribute, std::move(value));
  return graph_.add(op, {v}, std::move(attributes), name);
}

ValueId Raising::reshaped(ValueId v, const Shape& to, const std::string& name) {
  return shape(v) == to ? v : view(Op::reshape, v, "shape", to, name);
}

ValueId Raising::broadcast(ValueId v, const Shape& to, const std::string& name) {
  return shape(v) == to ? v : view(Op::broadcast, v, "shape", to, name);
}

ValueId Raising::concatenated(std::vector<ValueId> parts, int64_t axis, const std::string& name) {
  if (parts.size() == 1) return parts[0];
  Attributes attributes;
  attributes.set("axis", axis);
  return graph_.add(Op::concatenate, std::move(parts), std::move(attributes), name);
}

ValueId Raising::filled(double value, Dtype dtype, const Shape& to, const std::string& name) {
  return broadcast(literal(value, dtype), to, name);
}

ValueId Raising::converted(ValueId v, Dtype dtype, const std::string& name) {
  if (graph_.type(v).dtype == dtype) return v;
  Attributes to;
  to.set("dtype", dtype);
  return graph_.add(Op::cast, {v}, std::move(to), name);
}

ValueId Raising::named(ValueId v, const std::string& name) {
  if (graph_.values[v].name == name) return v;
  auto has_name = [](const std::string& wanted) {
    return [&wanted](const Value& value) { return value.name == wanted; };
  };
  auto& values = graph_.values;
  auto holder = std::find_if(values.begin(), values.end(), has_name(name));
  if (holder != values.end()) {
    std::string other = name + "_1";
    for (int i = 2; std::any_of(values.begin(), values.end(), has_name(other)); ++i)
      other = name + "_" + std::to_string(i);
    holder->name = other;
  }
  values[v].name = name;
  graph_.names = NameTable();
  return v;
}

ValueId Raising::over(ValueId v, const std::vector<AxisId>& axes, const Shape& to, const std::string& name) {
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  v = broadcast(v, spread(sorted), name);
  if (sorted == axes) return reshaped(v, to, name);
  std::vector<int64_t> order;
  for (auto axis : axes)
    order.push_back(std::lower_bound(sorted.begin(), sorted.end(), axis) - sorted.begin());
  return reshaped(view(Op::transpose, reshaped(v, sizes_of(sorted), name), "axes", order, name), to, name);
}

ValueId Raising::spread_out(ValueId v, const std::vector<AxisId>& axes, const std::string& name) {
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != axes) {
    std::vector<int64_t> order;
    for (auto axis : sorted)
      order.push_back(std::find(axes.begin(), axes.end(), axis) - axes.begin());
    v = view(Op::transpose, reshaped(v, sizes_of(axes), name), "axes", order, name);
  }
  return axes.empty() && shape(v).empty() ? v : reshaped(v, spread(axes), name);
}

ValueId Raising::literal(double value, Dtype dtype) {
  // Python has no spelling of a complex array of one real number, but a cast.
  if (dtype == Dtype::c64) return converted(literal(value, Dtype::f32), dtype, "c");
  return graph_.add_constant(value, dtype, "c");
}

// Counted in integers: MLX's arange adds step by step in the dtype, which a half soon cannot.
ValueId Raising::iota(AxisId axis, Dtype dtype) {
  const std::string& name = kernel_.axes[axis].name;
  Attributes attributes;
  attributes.set("start", 0.0);
  attributes.set("step", 1.0);
  attributes.set("size", size_of_axis(axis));
  attributes.set("dtype", is_integer(dtype) ? dtype : Dtype::i32);
  ValueId v = graph_.add(Op::arange, {}, std::move(attributes), name);
  return reshaped(converted(v, dtype, name), spread({axis}), name);
}

namespace {

bool same_operand(const KernelOperand& a, const KernelOperand& b) {
  return a.kind == b.kind && a.id == b.id && a.index == b.index && a.gathered == b.gathered &&
         a.guarded == b.guarded && std::memcmp(&a.literal, &b.literal, sizeof a.literal) == 0;
}

}  // namespace

ValueId Raising::operand(const KernelValue& value, int i) {
  const KernelOperand& asked = value.operands[i];
  if (asked.kind == KernelOperand::Kind::value) return values_[asked.id];
  const Dtype dtype = operand_dtype(kernel_, value, i);
  for (const auto& known : known_) {
    if (known.dtype == dtype && same_operand(known.operand, asked)) return known.value;
  }
  ValueId v = -1;
  switch (asked.kind) {
    case KernelOperand::Kind::load:
      v = load(asked);
      break;
    case KernelOperand::Kind::literal:
      v = literal(asked.literal, dtype);
      break;
    default:
      v = iota(asked.id, dtype);
      break;
  }
  known_.push_back({asked, dtype, v});
  return v;
}

ValueId Raising::compute(const KernelValue& value, const std::string& name) {
  switch (class_of(value.op)) {
    case OpClass::reduction:
      return reduce(value, name);
    case OpClass::scan:
      return scan(value, name);
    case OpClass::gemm:
      return contract(value, name);
    default:
      return elementwise(value, name);
  }
}

ValueId Raising::elementwise(const KernelValue& value, const std::string& name) {
  std::vector<ValueId> operands;
  for (size_t i = 0; i < value.operands.size(); ++i)
    operands.push_back(operand(value, static_cast<int>(i)));
  Attributes attributes = value.attributes;
  if (value.op == Op::cast) attributes.set("dtype", value.dtype);

  // An axis that no operand varies over, such as that of a constant that fills a row, is broadcast in the
  // end.
  const TensorType wanted{value.dtype, spread(value.axes)};
  int64_t elements = 1;
  for (size_t axis = 0; axis < kernel_.axes.size(); ++axis) {
    int64_t size = 1;
    for (auto v : operands) {
      if (!shape(v).empty() && shape(v)[axis] != 1) size = shape(v)[axis];
    }
    elements *= size;
  }
  const bool is_whole = elements == wanted.elements();
  const ValueId v =
      graph_.add(value.op, std::move(operands), std::move(attributes), is_whole ? name : name + "_part");
  return is_whole ? v : broadcast(v, wanted.shape, name);
}

ValueId Raising::reduce(const KernelValue& value, const std::string& name) {
  auto all = value.axes;
  all.insert(all.end(), value.reduced.begin(), value.reduced.end());
  const ValueId v = broadcast(operand(value, 0), spread(all), name + "_in");
  Attributes attributes;
  attributes.set("keepdims", true);
  if (value.op == Op::argmax || value.op == Op::argmin) {
    if (value.reduced.size() != 1)
      throw InternalError("[raise] %" + value.name + " searches more than one axis");
    attributes.set("axis", static_cast<int64_t>(value.reduced[0]));
  } else {
    attributes.set("axes", std::vector<int64_t>(value.reduced.begin(), value.reduced.end()));
  }
  return graph_.add(value.op, {v}, std::move(attributes), name);
}

ValueId Raising::scan(const KernelValue& value, const std::string& name) {
  Attributes attributes = value.attributes;
  attributes.set("axis", static_cast<int64_t>(value.scanned));
  const ValueId v = broadcast(operand(value, 0), spread(value.axes), name + "_in");
  return graph_.add(value.op, {v}, std::move(attributes), name);
}

Graph raise(const Kernel& kernel) {
  return Raising(kernel).run();
}

}  // namespace autoperfect

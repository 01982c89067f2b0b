#include <algorithm>
#include <cstring>
#include <numeric>

#include "lower/lower.h"

namespace autoperfect {

namespace {

// An index map of one dimension, undone: the elements start, start + stride... of it, `count` of them, are
// the mixed-radix numbers with the given axes as digits, most significant first. Axes of size 1 have no
// digit.
struct Digits {
  int64_t start = 0, stride = 1, count = 1;
  std::vector<AxisId> axes;
};

class Raising {
 public:
  explicit Raising(const Kernel& kernel) : kernel_(kernel), buffers_(kernel.buffers.size(), -1) {
    graph_.name = kernel.name;
  }

  Graph run() {
    std::vector<ValueId> outputs(kernel_.buffers.size(), -1);
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const Buffer& buffer = kernel_.buffers[b];
      if (buffer.role == BufferRole::in) buffers_[b] = graph_.add_input(buffer.name, buffer.type);
    }
    for (const auto& value : kernel_.values) {
      const bool is_plain = value.output < 0 || is_stored_plainly(value);
      values_.push_back(compute(value, is_plain ? value.name : value.name + "_kept"));
      if (value.output >= 0)
        outputs[value.output] = is_plain ? values_.back() : stored(value, values_.back());
    }
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      if (kernel_.buffers[b].role == BufferRole::in) continue;
      if (outputs[b] < 0) throw InternalError("[raise] nothing is stored to %" + kernel_.buffers[b].name);
      graph_.outputs.push_back(outputs[b]);
    }
    return std::move(graph_);
  }

 private:
  // The shape of a value over these axes: all axes of the kernel, those it does not vary over of size 1.
  Shape spread(const std::vector<AxisId>& axes) const {
    Shape shape(kernel_.axes.size(), 1);
    for (auto axis : axes)
      shape[axis] = kernel_.axes[axis].size;
    return shape;
  }
  int64_t size_of_axis(AxisId axis) const { return kernel_.axes[axis].size; }
  Shape sizes_of(const std::vector<AxisId>& axes) const {
    Shape shape;
    for (auto axis : axes)
      shape.push_back(size_of_axis(axis));
    return shape;
  }
  const Shape& shape(ValueId v) const { return graph_.type(v).shape; }

  ValueId view(Op op, ValueId v, const char* attribute, std::vector<int64_t> value, const std::string& name) {
    Attributes attributes;
    attributes.set(attribute, std::move(value));
    return graph_.add(op, {v}, std::move(attributes), name);
  }
  ValueId reshaped(ValueId v, const Shape& to, const std::string& name) {
    return shape(v) == to ? v : view(Op::reshape, v, "shape", to, name);
  }
  ValueId broadcast(ValueId v, const Shape& to, const std::string& name) {
    return shape(v) == to ? v : view(Op::broadcast, v, "shape", to, name);
  }

  Digits digits_of(const Affine& index) const;
  ValueId sliced(ValueId v, const std::vector<Digits>& dims, const std::string& name);
  ValueId load(const KernelOperand& operand);
  ValueId literal(double value, Dtype dtype);
  ValueId iota(AxisId axis, Dtype dtype);
  ValueId operand(const KernelValue& value, int i);

  ValueId compute(const KernelValue& value, const std::string& name);
  ValueId reduce(const KernelValue& value, const std::string& name);
  std::vector<AxisId> store_order(const KernelValue& value) const;
  bool is_stored_plainly(const KernelValue& value) const;
  ValueId stored(const KernelValue& value, ValueId v);

  struct Known {
    KernelOperand operand;
    Dtype dtype;
    ValueId value;
  };

  const Kernel& kernel_;
  Graph graph_;
  std::vector<ValueId> buffers_, values_;
  std::vector<Known> known_;  // loads, literals and iotas already written
};

Digits Raising::digits_of(const Affine& index) const {
  Digits digits;
  digits.start = index.offset;
  auto terms = index.terms;
  std::erase_if(terms, [&](const auto& term) { return size_of_axis(term.first) == 1; });
  if (terms.empty()) return digits;
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  digits.stride = terms.back().second;
  for (size_t i = terms.size(); i-- > 0;) {
    const auto& [axis, coefficient] = terms[i];
    if (coefficient != digits.stride * digits.count) {
      throw InternalError(
          "[raise] an index map with axis " + kernel_.axes[axis].name + " is not a mixed radix");
    }
    digits.count *= size_of_axis(axis);
    digits.axes.insert(digits.axes.begin(), axis);
  }
  return digits;
}

ValueId Raising::sliced(ValueId v, const std::vector<Digits>& dims, const std::string& name) {
  std::vector<int64_t> start, stop, strides;
  bool is_whole = true;
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto& [first, stride, count, axes] = dims[d];
    const int64_t n = shape(v)[d], last = first + (count - 1) * stride;
    const int64_t end = stride > 0 ? last + 1
                        : last > 0 ? last - 1
                                   : -(n + 1);  // -1 would mean the last element
    is_whole = is_whole && count == n && (stride == 1 || n <= 1);
    start.push_back(first);
    stop.push_back(count == 0 ? first : end);
    strides.push_back(stride);
  }
  if (is_whole) return v;
  Attributes attributes;
  attributes.set("start", std::move(start));
  attributes.set("stop", std::move(stop));
  attributes.set("strides", std::move(strides));
  return graph_.add(Op::slice, {v}, std::move(attributes), name);
}

// The positions that sort `axes`, when they are not sorted.
std::vector<int64_t> sorting_permutation(const std::vector<AxisId>& axes) {
  std::vector<int64_t> order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return axes[a] < axes[b]; });
  return order;
}

// Slice what is read, split dimensions into one per axis, bring the axes into order, spread them over all
// axes.
ValueId Raising::load(const KernelOperand& operand) {
  const std::string name = kernel_.buffers[operand.id].name + "_view";
  std::vector<Digits> dims;
  std::vector<AxisId> axes;
  for (const auto& index : operand.index) {
    dims.push_back(digits_of(index));
    axes.insert(axes.end(), dims.back().axes.begin(), dims.back().axes.end());
  }
  const auto order = sorting_permutation(axes);
  for (size_t i = 1; i < order.size(); ++i) {
    if (axes[order[i]] == axes[order[i - 1]])
      throw InternalError("[raise] an axis indexes two dimensions of " + name);
  }
  ValueId v = sliced(buffers_[operand.id], dims, name);
  if (!std::is_sorted(order.begin(), order.end())) {
    v = view(Op::transpose, reshaped(v, sizes_of(axes), name), "axes", order, name);
  }
  return axes.empty() && shape(v).empty() ? v : reshaped(v, spread(axes), name);
}

ValueId Raising::literal(double value, Dtype dtype) {
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
  if (graph_.type(v).dtype != dtype) {
    Attributes to;
    to.set("dtype", dtype);
    v = graph_.add(Op::cast, {v}, std::move(to), name);
  }
  return reshaped(v, spread({axis}), name);
}

bool same_operand(const KernelOperand& a, const KernelOperand& b) {
  return a.kind == b.kind && a.id == b.id && a.index == b.index &&
         std::memcmp(&a.literal, &b.literal, 8) == 0;
}

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
  if (class_of(value.op) == OpClass::reduction) return reduce(value, name);
  std::vector<ValueId> operands;
  Shape shape_of_operands;
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

// The axes of a stored value in the order of the buffer's dimensions. Together they must fill the buffer.
std::vector<AxisId> Raising::store_order(const KernelValue& value) const {
  const Buffer& buffer = kernel_.buffers[value.output];
  std::vector<AxisId> axes;
  for (size_t d = 0; d < value.store.size(); ++d) {
    const Digits digits = digits_of(value.store[d]);
    const bool is_whole = digits.count == buffer.type.shape[d] && (digits.stride == 1 || digits.count <= 1);
    if (!is_whole || digits.start != 0) throw InternalError("[raise] %" + buffer.name + " is stored in part");
    axes.insert(axes.end(), digits.axes.begin(), digits.axes.end());
  }
  return axes;
}

// As it is computed: spread over all axes, or a scalar.
bool Raising::is_stored_plainly(const KernelValue& value) const {
  const auto axes = store_order(value);
  return std::is_sorted(axes.begin(), axes.end()) &&
         kernel_.buffers[value.output].type.shape == spread(value.axes);
}

ValueId Raising::stored(const KernelValue& value, ValueId v) {
  const Buffer& buffer = kernel_.buffers[value.output];
  const auto axes = store_order(value);
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != axes) {
    std::vector<int64_t> order;
    for (auto axis : axes)
      order.push_back(std::lower_bound(sorted.begin(), sorted.end(), axis) - sorted.begin());
    const bool is_last = sizes_of(axes) == buffer.type.shape;
    v = reshaped(v, sizes_of(sorted), buffer.name + "_flat");
    v = view(Op::transpose, v, "axes", order, is_last ? buffer.name : buffer.name + "_turned");
  }
  return reshaped(v, buffer.type.shape, buffer.name);
}

}  // namespace

Graph raise(const Kernel& kernel) {
  return Raising(kernel).run();
}

}  // namespace autoperfect

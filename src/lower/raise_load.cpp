// Loads: what an index map shows is sliced, split into one dimension per axis and brought into order; a guard
// pads; a gathered dimension is taken from. Indices that are no view are computed, element by element.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lower/clipped_index.h"
#include "lower/raising.h"

namespace autoperfect {

// An index map of one dimension, undone; its axes are the digits of a number when their steps nest.
std::optional<Digits> Raising::digits_of(const Affine& index) const {
  Digits digits;
  digits.start = index.offset;
  auto terms = index.terms;
  std::erase_if(terms, [&](const auto& term) { return size_of_axis(term.first) == 1; });
  if (terms.empty()) return digits;
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second) > std::abs(b.second);
  });
  digits.stride = terms.back().second;
  for (size_t i = terms.size(); i-- > 0;) {
    const auto& [axis, coefficient] = terms[i];
    if (coefficient != digits.stride * digits.count) return std::nullopt;
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

ValueId Raising::load(const KernelOperand& operand) {
  auto shown = load_view(operand);
  return shown ? *shown : load_elements(operand);
}

// Each affine dimension a view, no axis in two of them, and at most one dimension gathered.
std::optional<ValueId> Raising::load_view(const KernelOperand& operand) {
  const std::string name = kernel_.buffers[operand.id].name + "_view";
  std::vector<Affine> index = operand.index;
  ValueId v = buffers_[operand.id];
  std::vector<Digits> dims;
  std::vector<AxisId> axes;
  size_t gathered = index.size();
  for (size_t d = 0; d < index.size(); ++d) {
    if (operand.gathers() && operand.gathered[d] >= 0) {
      if (gathered != index.size()) return std::nullopt;
      gathered = d;
      dims.push_back({0, 1, shape(v)[d], {}});
      axes.push_back(static_cast<AxisId>(kernel_.axes.size()));  // comes last, and is no axis
      continue;
    }
    auto digits = digits_of(index[d]);
    if (!digits) return std::nullopt;
    axes.insert(axes.end(), digits->axes.begin(), digits->axes.end());
    dims.push_back(std::move(*digits));
  }
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return std::nullopt;
  if (operand.guarded) {
    auto with_margins = padded(operand, index);
    if (!with_margins) return std::nullopt;
    v = *with_margins;
    for (size_t d = 0; d < index.size(); ++d)
      dims[d].start = d == gathered ? 0 : index[d].offset;
  }
  v = sliced(v, dims, name);
  if (gathered == index.size()) return spread_out(v, axes, name);
  return gather(v, operand, axes, gathered);
}

// The buffer with as many guards around it as the indices ask for, which then stay inside it: `index` is
// moved accordingly. Not when that is far more than what is read.
std::optional<ValueId> Raising::padded(const KernelOperand& operand, std::vector<Affine>& index) {
  const Buffer& buffer = kernel_.buffers[operand.id];
  ValueId v = buffers_[operand.id];
  int64_t elements = 1, most = 4096;
  std::vector<std::pair<int64_t, int64_t>> margins;
  for (size_t d = 0; d < index.size(); ++d) {
    int64_t lowest = index[d].offset, highest = index[d].offset;
    for (auto [axis, coefficient] : index[d].terms)
      (coefficient < 0 ? lowest : highest) += coefficient * (size_of_axis(axis) - 1);
    const bool is_gathered = operand.gathers() && operand.gathered[d] >= 0;
    const int64_t size = buffer.type.shape[d], before = is_gathered ? 0 : std::max<int64_t>(0, -lowest);
    const int64_t after = is_gathered ? 0 : std::max<int64_t>(0, highest + 1 - size);
    most += 4 * size;
    if (before + after > most) return std::nullopt;
    margins.emplace_back(before, after);
    index[d].offset += before;
    if (__builtin_mul_overflow(elements, size + before + after, &elements)) return std::nullopt;
  }
  if (elements > 4096 + 16 * buffer.type.elements()) return std::nullopt;
  std::vector<int64_t> padded_axes, low, high;
  for (size_t d = 0; d < margins.size(); ++d) {
    if (margins[d] == std::pair<int64_t, int64_t>(0, 0)) continue;
    padded_axes.push_back(static_cast<int64_t>(d));
    low.push_back(margins[d].first);
    high.push_back(margins[d].second);
  }
  if (padded_axes.empty()) return v;
  Attributes attributes;
  attributes.set("axes", std::move(padded_axes));
  attributes.set("low", std::move(low));
  attributes.set("high", std::move(high));
  const ValueId padding = literal(operand.literal, buffer.type.dtype);
  return graph_.add(Op::pad, {v, padding}, std::move(attributes), buffer.name + "_padded");
}

// An index as an integer of 64 bits inside its dimension: MLX counts negative ones from the end but leaves
// undefined what is still outside. In the shape of its value.
ValueId Raising::index_of(KernelValueId v, int64_t size) {
  const KernelValue& value = kernel_.values[v];
  const std::string name = value.name + "_inside";
  auto constant = [&](int64_t number, Dtype dtype) { return literal(static_cast<double>(number), dtype); };
  if (value.dtype == Dtype::u64)
    return converted(add(Op::minimum, {values_[v], constant(size - 1, Dtype::u64)}, name), Dtype::i64, name);
  ValueId index = converted(values_[v], Dtype::i64, name);
  if (is_signed_integer(value.dtype)) {
    const ValueId is_negative = add(Op::less, {index, constant(0, Dtype::i64)}, name);
    const ValueId from_end = add(Op::add, {index, constant(size, Dtype::i64)}, name);
    index = add(Op::select, {is_negative, from_end, index}, name);
    index = add(Op::maximum, {index, constant(0, Dtype::i64)}, name);
  }
  return add(Op::minimum, {index, constant(size - 1, Dtype::i64)}, name);
}

// `rows`: what the other dimensions show, over `axes` in that order; the gathered dimension stands for an
// axis after all others.
ValueId Raising::gather(
    ValueId rows, const KernelOperand& operand, const std::vector<AxisId>& axes, size_t dimension) {
  const KernelValueId id = operand.gathered[dimension];
  const auto& indexed = kernel_.values[id].axes;
  const bool shares_axes = std::any_of(axes.begin(), axes.end(), [&](AxisId axis) {
    return std::find(indexed.begin(), indexed.end(), axis) != indexed.end();
  });
  return shares_axes ? take_along(rows, operand, axes, dimension) : take(rows, operand, axes, dimension);
}

// Whole rows, one for each index: the gathered dimension first.
ValueId Raising::take(
    ValueId rows, const KernelOperand& operand, const std::vector<AxisId>& axes, size_t dimension) {
  const Buffer& buffer = kernel_.buffers[operand.id];
  const std::string name = buffer.name + "_taken";
  const KernelValueId id = operand.gathered[dimension];
  const int64_t size = buffer.type.shape[dimension];
  Shape apart;  // one dimension per axis
  std::vector<AxisId> own;
  std::vector<int64_t> order;
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool is_axis = axes[i] < static_cast<AxisId>(kernel_.axes.size());
    apart.push_back(is_axis ? size_of_axis(axes[i]) : size);
    if (is_axis) own.push_back(axes[i]);
    order.insert(is_axis ? order.end() : order.begin(), static_cast<int64_t>(i));
  }
  rows = reshaped(rows, apart, name);
  if (!std::is_sorted(order.begin(), order.end())) rows = view(Op::transpose, rows, "axes", order, name);
  const auto& indexed = kernel_.values[id].axes;
  const ValueId clipped = clipped_index(graph_, values_[id], size, kernel_.values[id].name + "_clipped");
  const ValueId index = reshaped(clipped, sizes_of(indexed), name);
  Shape one = sizes_of(own), to = sizes_of(indexed);
  one.insert(one.begin(), 1);
  to.insert(to.end(), one.begin() + 1, one.end());
  Attributes attributes;
  attributes.set("axes", std::vector<int64_t>{0});
  attributes.set("sizes", one);
  const ValueId taken = graph_.add(Op::gather, {rows, index}, std::move(attributes), name);
  auto both = indexed;
  both.insert(both.end(), own.begin(), own.end());
  return spread_out(reshaped(taken, to, name), both, name);
}

// An index for each element.
ValueId Raising::take_along(
    ValueId rows, const KernelOperand& operand, const std::vector<AxisId>& axes, size_t dimension) {
  const Buffer& buffer = kernel_.buffers[operand.id];
  const std::string name = buffer.name + "_taken";
  const KernelValueId id = operand.gathered[dimension];
  const int64_t size = buffer.type.shape[dimension];
  Shape apart;  // one dimension per axis
  std::vector<AxisId> own;
  for (auto axis : axes) {
    const bool is_axis = axis < static_cast<AxisId>(kernel_.axes.size());
    apart.push_back(is_axis ? size_of_axis(axis) : size);
    if (is_axis) own.push_back(axis);
  }
  std::vector<int64_t> order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return axes[a] < axes[b]; });
  rows = reshaped(rows, apart, name);
  if (!std::is_sorted(order.begin(), order.end())) rows = view(Op::transpose, rows, "axes", order, name);

  auto both = own;
  both.insert(both.end(), kernel_.values[id].axes.begin(), kernel_.values[id].axes.end());
  Shape from = spread(own), to = spread(both);
  from.push_back(size);
  Shape wide = to, indices = spread(kernel_.values[id].axes);
  wide.push_back(size);
  indices.push_back(1);
  Shape taken = to;
  taken.push_back(1);
  Attributes attributes;
  attributes.set("axis", static_cast<int64_t>(to.size()));
  const ValueId clipped = clipped_index(graph_, values_[id], size, kernel_.values[id].name + "_clipped");
  const ValueId index = broadcast(reshaped(clipped, indices, name), taken, name);
  rows = broadcast(reshaped(rows, from, name), wide, name);
  return reshaped(graph_.add(Op::gather_axis, {rows, index}, std::move(attributes), name), to, name);
}

// The value of an affine index, over its axes.
ValueId Raising::position(const Affine& affine) {
  std::optional<ValueId> sum;
  for (auto [axis, coefficient] : affine.terms) {
    ValueId term = iota(axis, Dtype::i64);
    if (coefficient != 1)
      term = add(Op::mul, {term, literal(static_cast<double>(coefficient), Dtype::i64)}, "at");
    sum = sum ? add(Op::add, {*sum, term}, "at") : term;
  }
  const ValueId offset = literal(static_cast<double>(affine.offset), Dtype::i64);
  if (!sum) return reshaped(offset, spread({}), "at");
  return affine.offset == 0 ? *sum : add(Op::add, {*sum, offset}, "at");
}

// The place of each element in the flat buffer, and what lies there.
ValueId Raising::load_elements(const KernelOperand& operand) {
  const Buffer& buffer = kernel_.buffers[operand.id];
  const std::string name = buffer.name + "_elements";
  const int64_t elements = buffer.type.elements();
  std::optional<ValueId> place, inside;
  int64_t stride = 1;
  for (size_t d = operand.index.size(); d-- > 0; stride *= buffer.type.shape[d]) {
    const int64_t size = buffer.type.shape[d];
    const bool is_gathered = operand.gathers() && operand.gathered[d] >= 0;
    ValueId index = is_gathered ? index_of(operand.gathered[d], size) : position(operand.index[d]);
    if (operand.guarded && !is_gathered) {
      const ValueId above = add(Op::greater_equal, {index, literal(0, Dtype::i64)}, name);
      const ValueId below = add(Op::less, {index, literal(static_cast<double>(size), Dtype::i64)}, name);
      const ValueId both = add(Op::logical_and, {above, below}, name);
      inside = inside ? add(Op::logical_and, {*inside, both}, name) : both;
    }
    if (stride != 1) index = add(Op::mul, {index, literal(static_cast<double>(stride), Dtype::i64)}, name);
    place = place ? add(Op::add, {*place, index}, name) : index;
  }
  const Shape to = spread(axes_of(kernel_, operand));
  if (!place) return buffers_[operand.id];
  const ValueId otherwise = literal(operand.literal, buffer.type.dtype);
  if (elements == 0) return broadcast(otherwise, to, name);
  if (inside) place = add(Op::select, {*inside, *place, literal(0, Dtype::i64)}, name);
  const ValueId flat = reshaped(buffers_[operand.id], {elements}, name);
  const ValueId at = broadcast(*place, to, name);
  Attributes attributes;
  attributes.set("axis", int64_t{0});
  const Shape count = {TensorType{Dtype::i64, to}.elements()};
  ValueId v = graph_.add(Op::gather_axis, {flat, reshaped(at, count, name)}, std::move(attributes), name);
  v = reshaped(v, to, name);
  return inside ? add(Op::select, {*inside, v, otherwise}, name) : v;
}

}  // namespace autoperfect

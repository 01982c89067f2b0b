// Gathers: index arrays that only convert, count, repeat or turn say nothing that the gather cannot say
// itself.
#include <algorithm>
#include <numeric>

#include "canonicalize/index_arrays.h"
#include "canonicalize/parts.h"
#include "canonicalize/passes.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

using Axes = std::vector<int64_t>;

std::vector<SliceRange> all_of(const Shape& shape) {
  std::vector<SliceRange> ranges;
  for (auto size : shape)
    ranges.push_back(whole(size));
  return ranges;
}

Axes swapped(size_t rank, size_t a, size_t b) {
  Axes axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[a], axes[b]);
  return axes;
}

std::optional<int64_t> counted_from_start(std::optional<int64_t> index, int64_t size) {
  if (!index || *index < -size || *index >= size) return std::nullopt;
  return *index < 0 ? *index + size : *index;
}

// Index arrays in the dtype that they were converted from, where that is one.
std::optional<std::vector<ValueId>> unconverted(Rewriter& to, const std::vector<ValueId>& indices) {
  std::optional<Dtype> dtype;
  for (auto index : indices) {
    if (!counts(to, index) || indices.size() == 1) dtype = dtype.value_or(dtype_before_casts(to, index));
  }
  const auto fits = [&](ValueId index) { return may_have_dtype(to, index, *dtype); };
  if (!dtype || *dtype == to.type(indices[0]).dtype || !std::all_of(indices.begin(), indices.end(), fits))
    return std::nullopt;
  std::vector<ValueId> before;
  for (auto index : indices)
    before.push_back(without_casts(to, index, *dtype));
  return before;
}

class Gather {
 public:
  Gather(Rewriter& to, const NewNode& node)
      : to_(to),
        node_(node),
        x_(node.operands[0]),
        shape_(to.shape(node.operands[0])),
        axes_(node.attributes.get<Axes>("axes")),
        sizes_(node.attributes.get<Shape>("sizes")),
        index_rank_(node.type.shape.size() - sizes_.size()) {
    for (size_t k = 0; k < axes_.size(); ++k)
      indices_.push_back(index_array(to, node.operands[k + 1]));
  }

  std::optional<ValueId> run() {
    for (auto axis : axes_) {
      if (sizes_[axis] != 1) return std::nullopt;
    }
    using Step = std::optional<ValueId> (Gather::*)();
    for (Step step :
         {&Gather::of_whole_slices,
          &Gather::with_ascending_axes,
          &Gather::without_known_index,
          &Gather::with_unconverted_indices,
          &Gather::without_repeated_axis,
          &Gather::without_count,
          &Gather::below_view_of_indices,
          &Gather::below_transpose_of_x,
          &Gather::below_ones_of_x,
          &Gather::along_axis}) {
      if (auto other = (this->*step)()) return other;
    }
    return std::nullopt;
  }

 private:
  bool is_indexed(int64_t axis) const { return std::find(axes_.begin(), axes_.end(), axis) != axes_.end(); }

  ValueId gathered(ValueId x, const std::vector<ValueId>& indices, Axes axes, Shape sizes) {
    std::vector<ValueId> operands{x};
    operands.insert(operands.end(), indices.begin(), indices.end());
    Attributes attributes;
    attributes.set("axes", std::move(axes));
    attributes.set("sizes", std::move(sizes));
    return to_.add(Op::gather, std::move(operands), std::move(attributes), "_taken");
  }

  std::vector<ValueId> index_values() const { return {node_.operands.begin() + 1, node_.operands.end()}; }

  std::optional<ValueId> of_whole_slices() {
    auto ranges = all_of(shape_);
    bool cuts = false;
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (is_indexed(static_cast<int64_t>(d)) || sizes_[d] == shape_[d]) continue;
      ranges[d].count = sizes_[d];
      cuts = true;
    }
    if (axes_.empty() || repeated_scalar(to_, x_)) {
      const ValueId part = cuts ? to_.add(Op::slice, {x_}, slice_attributes(ranges, shape_)) : x_;
      const auto scalar = repeated_scalar(to_, x_);
      return to_.add_broadcast(scalar.value_or(part), node_.type.shape);
    }
    if (!cuts) return std::nullopt;
    const ValueId part = to_.add(Op::slice, {x_}, slice_attributes(ranges, shape_), "_part");
    return gathered(part, index_values(), axes_, sizes_);
  }

  std::optional<ValueId> with_ascending_axes() {
    if (std::is_sorted(axes_.begin(), axes_.end())) return std::nullopt;
    std::vector<size_t> order(axes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return axes_[a] < axes_[b]; });
    std::vector<ValueId> indices;
    Axes axes;
    for (auto k : order) {
      indices.push_back(indices_[k].value);
      axes.push_back(axes_[k]);
    }
    return gathered(x_, indices, std::move(axes), sizes_);
  }

  // An axis where one element is taken, whatever the place in the result: of a slice.
  std::optional<ValueId> without_known_index() {
    for (size_t k = 0; k < axes_.size(); ++k) {
      const int64_t size = shape_[axes_[k]];
      const auto place = size == 1 ? 0 : counted_from_start(constant_index(to_, indices_[k]), size);
      if (!place) continue;
      auto ranges = all_of(shape_);
      ranges[axes_[k]] = {*place, 1, 1};
      const ValueId part = to_.add(Op::slice, {x_}, slice_attributes(ranges, shape_), "_part");
      auto indices = index_values();
      indices.erase(indices.begin() + static_cast<int64_t>(k));
      Axes axes = axes_;
      axes.erase(axes.begin() + static_cast<int64_t>(k));
      if (axes.empty()) return to_.add_broadcast(part, node_.type.shape);
      return gathered(part, indices, std::move(axes), sizes_);
    }
    return std::nullopt;
  }

  std::optional<ValueId> with_unconverted_indices() {
    const auto indices = unconverted(to_, index_values());
    if (!indices) return std::nullopt;
    return gathered(x_, *indices, axes_, sizes_);
  }

  // Axes over which no index varies are taken once and repeated.
  std::optional<ValueId> without_repeated_axis() {
    std::vector<bool> kept(index_rank_, false);
    for (const auto& index : indices_) {
      for (size_t d = 0; d < index_rank_; ++d)
        kept[d] = kept[d] || index.varies[d];
    }
    bool repeats = false;
    for (size_t d = 0; d < index_rank_; ++d)
      repeats |= !kept[d] && node_.type.shape[d] != 1;
    if (!repeats) return std::nullopt;
    std::vector<ValueId> indices;
    for (const auto& index : indices_)
      indices.push_back(narrowed(to_, index, kept));
    return to_.add_broadcast(gathered(x_, indices, axes_, sizes_), node_.type.shape);
  }

  std::optional<size_t> counted(size_t k) const { return counted_axis(to_, indices_[k], shape_[axes_[k]]); }

  // An index that counts through its axis, along an axis of its own: that axis is taken whole.
  std::optional<ValueId> without_count() {
    for (size_t k = 0; k < axes_.size(); ++k) {
      const auto d = counted(k);
      if (!d) continue;
      const auto varying = std::count_if(
          indices_.begin(), indices_.end(), [&](const IndexArray& index) { return index.varies[*d]; });
      if (varying == 1) return with_whole_axis(k, *d);
    }
    return std::nullopt;
  }

  ValueId with_whole_axis(size_t counted, size_t d) {
    std::vector<bool> kept(index_rank_, true);
    kept[d] = false;
    std::vector<ValueId> indices;
    Axes axes;
    for (size_t k = 0; k < axes_.size(); ++k) {
      if (k == counted) continue;
      indices.push_back(narrowed(to_, indices_[k], kept));
      axes.push_back(axes_[k]);
    }
    const auto axis = static_cast<size_t>(axes_[counted]);
    Shape sizes = sizes_;
    sizes[axis] = shape_[axis];
    Shape own(index_rank_, 1);
    own.insert(own.end(), sizes.begin(), sizes.end());
    const ValueId taken =
        indices.empty() ? to_.add_reshape(x_, std::move(own)) : gathered(x_, indices, std::move(axes), sizes);
    return to_.add_transpose(taken, swapped(node_.type.shape.size(), d, index_rank_ + axis));
  }

  // All indices are reshaped from one shape, or turned in one way: so is the result instead.
  std::optional<ValueId> below_view_of_indices() {
    const Node* first = to_.producer(indices_[0].value);
    if (!first || (first->op != Op::reshape && first->op != Op::transpose)) return std::nullopt;
    const Node view = *first;
    std::vector<ValueId> before;
    for (const auto& index : indices_) {
      const Node* node = to_.producer(index.value, view.op);
      const bool same = node && to_.shape(node->operands[0]) == to_.shape(view.operands[0]) &&
                        (view.op == Op::reshape || node->attributes == view.attributes);
      if (!same) return std::nullopt;
      before.push_back(node->operands[0]);
    }
    const ValueId taken = gathered(x_, before, axes_, sizes_);
    if (view.op == Op::reshape) return to_.add_reshape(taken, node_.type.shape);
    Axes axes = view.attributes.get<Axes>("axes");
    for (size_t d = 0; d < sizes_.size(); ++d)
      axes.push_back(static_cast<int64_t>(index_rank_ + d));
    return to_.add_transpose(taken, std::move(axes));
  }

  std::optional<ValueId> below_transpose_of_x() {
    const Node* view = to_.producer(x_, Op::transpose);
    if (!view) return std::nullopt;
    const ValueId x = view->operands[0];
    const auto order = view->attributes.get<Axes>("axes");
    Axes axes, turned(index_rank_);
    for (auto axis : axes_)
      axes.push_back(order[axis]);
    std::iota(turned.begin(), turned.end(), 0);
    Shape sizes(sizes_.size());
    for (size_t d = 0; d < order.size(); ++d) {
      sizes[order[d]] = sizes_[d];
      turned.push_back(static_cast<int64_t>(index_rank_) + order[d]);
    }
    return to_.add_transpose(
        gathered(x, index_values(), std::move(axes), std::move(sizes)), std::move(turned));
  }

  // x with axes of size 1 added or dropped.
  std::optional<ValueId> below_ones_of_x() {
    const Node* view = to_.producer(x_, Op::reshape);
    if (!view || !same_but_ones(to_.shape(view->operands[0]), shape_)) return std::nullopt;
    const ValueId x = view->operands[0];
    Shape sizes = to_.shape(x);
    const auto before = wide_axes(sizes), after = wide_axes(shape_);
    Axes axes;
    for (auto axis : axes_) {
      const auto place = std::find(after.begin(), after.end(), static_cast<size_t>(axis)) - after.begin();
      axes.push_back(static_cast<int64_t>(before[place]));
      sizes[before[place]] = 1;
    }
    return to_.add_reshape(gathered(x, index_values(), std::move(axes), std::move(sizes)), node_.type.shape);
  }

  // One index that is data, and others that only count along its axes: take_along_axis.
  std::optional<ValueId> along_axis() {
    std::vector<int64_t> axis_of(index_rank_, -1);  // which axis of x an axis of the indices counts through
    std::optional<size_t> data;
    for (size_t k = 0; k < axes_.size(); ++k) {
      const auto d = counted(k);
      if (!d) {
        if (data) return std::nullopt;
        data = k;
      } else {
        if (axis_of[*d] >= 0) return std::nullopt;
        axis_of[*d] = axes_[k];
      }
    }
    if (!data || axes_.size() == 1) return std::nullopt;
    return along_axis(*data, axis_of);
  }

  ValueId along_axis(size_t data, const std::vector<int64_t>& axis_of) {
    Axes order, labels;         // axes of the index, and of the result, in the order of axes of x
    Shape column, wide, split;  // of the index, of what is taken, and of it with its axes apart
    for (int64_t axis = 0; axis < static_cast<int64_t>(shape_.size()); ++axis) {
      int64_t size = shape_[axis];
      const auto counted = std::find(axis_of.begin(), axis_of.end(), axis);
      if (axis == axes_[data]) {
        size = 1;
        for (size_t d = 0; d < index_rank_; ++d) {
          if (axis_of[d] >= 0) continue;
          order.push_back(static_cast<int64_t>(d));
          labels.push_back(static_cast<int64_t>(d));
          split.push_back(node_.type.shape[d]);
          size *= split.back();
        }
      } else {
        const bool counts = counted != axis_of.end();
        if (counts) order.push_back(counted - axis_of.begin());
        labels.push_back(counts ? order.back() : static_cast<int64_t>(index_rank_) + axis);
        split.push_back(size);
      }
      const bool is_whole = axis != axes_[data] && counted == axis_of.end();
      column.push_back(is_whole ? 1 : size);
      wide.push_back(size);
    }
    const ValueId turned = to_.add_transpose(indices_[data].value, order);
    const ValueId index = to_.add_broadcast(to_.add_reshape(turned, column), wide);
    Attributes along;
    along.set("axis", axes_[data]);
    const ValueId taken = to_.add(Op::gather_axis, {x_, index}, std::move(along), "_taken");
    Axes back(labels.size());
    std::iota(back.begin(), back.end(), 0);
    std::sort(back.begin(), back.end(), [&](int64_t a, int64_t b) { return labels[a] < labels[b]; });
    return to_.add_reshape(to_.add_transpose(to_.add_reshape(taken, split), back), node_.type.shape);
  }

  Rewriter& to_;
  const NewNode& node_;
  ValueId x_;
  Shape shape_;
  Axes axes_;
  Shape sizes_;
  size_t index_rank_;
  std::vector<IndexArray> indices_;
};

std::optional<ValueId> along_axis_below_transpose(Rewriter& to, const NewNode& node) {
  const Node* view = to.producer(node.operands[0], Op::transpose);
  if (!view) return std::nullopt;
  const ValueId x = view->operands[0];
  const auto axes = view->attributes.get<Axes>("axes");
  Axes back(axes.size());
  for (size_t d = 0; d < axes.size(); ++d)
    back[axes[d]] = static_cast<int64_t>(d);
  Attributes along;
  along.set("axis", axes[node.attributes.get<int64_t>("axis")]);
  const ValueId index = to.add_transpose(node.operands[1], std::move(back), "_index");
  return to.add_transpose(to.add(Op::gather_axis, {x, index}, std::move(along), "_taken"), axes);
}

// take_along_axis
std::optional<ValueId> simplify_gather_axis(Rewriter& to, const NewNode& node) {
  const ValueId x = node.operands[0];
  const Shape shape = to.shape(x);
  const auto axis = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  if (const auto before = unconverted(to, {node.operands[1]}))
    return to.add(Op::gather_axis, {x, (*before)[0]}, node.attributes);
  const auto index = index_array(to, node.operands[1]);
  const auto place = shape[axis] == 1 ? 0 : counted_from_start(constant_index(to, index), shape[axis]);
  if (place) {
    auto ranges = all_of(shape);
    ranges[axis] = {*place, 1, 1};
    return to.add_broadcast(to.add(Op::slice, {x}, slice_attributes(ranges, shape)), node.type.shape);
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != axis && index.varies[d]) return along_axis_below_transpose(to, node);
  }
  if (counted_axis(to, index, shape[axis]) && node.type.shape == shape) return x;
  // The same elements for all other axes.
  const int64_t count = node.type.shape[axis];
  Attributes attributes;
  Shape sizes = shape;
  sizes[axis] = 1;
  attributes.set("axes", Axes{static_cast<int64_t>(axis)});
  attributes.set("sizes", sizes);
  std::vector<bool> kept(shape.size(), false);
  kept[axis] = true;
  const ValueId flat = to.add_reshape(narrowed(to, index, kept), {count});
  const ValueId taken = to.add(Op::gather, {x, flat}, std::move(attributes), "_taken");
  return to.add_reshape(to.add_transpose(taken, swapped(shape.size() + 1, 0, axis + 1)), node.type.shape);
}

}  // namespace

std::optional<ValueId> simplify_gathers(Rewriter& to, const NewNode& node) {
  const bool gathers = node.op == Op::gather || node.op == Op::gather_axis;
  if (!gathers || node.type.elements() == 0) return std::nullopt;
  return node.op == Op::gather ? Gather(to, node).run() : simplify_gather_axis(to, node);
}

}  // namespace autoperfect

// Outputs: parts become boxes of the buffer with its dimensions split, and are concatenated.
#include <algorithm>
#include <numeric>

#include "lower/raising.h"

namespace autoperfect {

namespace {

// Where no box lies on both sides.
template <class Pieces>
std::vector<int64_t> cuts_along(const Pieces& pieces, size_t d) {
  std::vector<std::pair<int64_t, int64_t>> intervals;
  for (const auto& piece : pieces)
    intervals.emplace_back(piece.box[d].start, piece.box[d].last() + 1);
  std::sort(intervals.begin(), intervals.end());
  std::vector<int64_t> cuts;
  int64_t reached = intervals[0].second;
  for (auto [begin, end] : intervals) {
    if (begin >= reached && begin > intervals[0].first) cuts.push_back(begin);
    reached = std::max(reached, end);
  }
  return cuts;
}

// The step that all boxes have in common along a dimension.
template <class Pieces>
int64_t step_along(const Pieces& pieces, size_t d) {
  int64_t step = 0;
  for (const auto& piece : pieces) {
    if (piece.box[d].count > 1) step = std::gcd(step, piece.box[d].stride);
  }
  return step;
}

}  // namespace

// As it is computed: spread over all axes, or a scalar.
bool Raising::is_stored_plainly(const KernelValue& value) const {
  if (kernel_.buffers[value.output].type.shape != spread(value.axes)) return false;
  AxisId last = -1;
  for (const auto& affine : value.store) {
    auto digits = digits_of(affine);
    if (!digits || digits->stride < 0) return false;
    for (auto axis : digits->axes) {
      if (axis < last) return false;
      last = axis;
    }
  }
  return true;
}

ValueId Raising::stored(const std::vector<KernelValueId>& values) {
  const Buffer& buffer = kernel_.buffers[kernel_.values[values[0]].output];
  std::vector<StorePart> parts;
  std::vector<KernelValueId> stored_values;
  for (auto v : values) {
    if (TensorType{Dtype::bool_, sizes_of(kernel_.values[v].axes)}.elements() == 0) continue;
    stored_values.push_back(v);
    parts.push_back({&kernel_.values[v].store, &kernel_.values[v].axes});
  }
  if (parts.empty()) {
    const ValueId empty = reshaped(values_[values[0]], buffer.type.shape, buffer.name);
    return named(empty, buffer.name);
  }
  size_t unproven = 0;
  const auto layout = lay_out(parts, kernel_.axes, buffer.type.shape, unproven);
  if (!layout) throw InternalError("[raise] parts of %" + buffer.name + " are no boxes");
  std::vector<Piece> pieces;
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto& box = layout->parts[p];
    pieces.push_back({piece_of(kernel_.values[stored_values[p]], values_[stored_values[p]], box), box});
  }
  const ValueId whole = assemble(pieces, layout->shape, buffer.name + "_parts");
  return named(reshaped(whole, buffer.type.shape, buffer.name), buffer.name);
}

// A part in the shape of its box. Axes of size 1 are no digits, so they are left out.
ValueId Raising::piece_of(const KernelValue& value, ValueId v, const std::vector<Digits>& box) {
  std::vector<AxisId> axes;
  Shape to;
  for (const auto& digits : box) {
    axes.insert(axes.end(), digits.axes.begin(), digits.axes.end());
    to.push_back(digits.count);
  }
  v = broadcast(v, spread(value.axes), value.name + "_part");
  std::vector<Digits> turned;
  for (auto size : shape(v))
    turned.push_back({0, 1, size, {}});
  for (const auto& affine : value.store) {
    for (auto [axis, coefficient] : affine.terms) {
      const int64_t size = size_of_axis(axis);
      if (coefficient < 0 && size > 1) turned[axis] = {size - 1, -1, size, {}};
    }
  }
  return over(sliced(v, turned, value.name + "_part"), axes, to, value.name + "_part");
}

// Pieces that fill `shape`: cut apart along one dimension after another, or taken from each other in turn.
ValueId Raising::assemble(const std::vector<Piece>& pieces, const Shape& shape, const std::string& name) {
  if (pieces.size() == 1) return pieces[0].value;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto cuts = cuts_along(pieces, d);
    if (cuts.empty()) continue;
    std::vector<ValueId> slabs;
    for (size_t c = 0; c <= cuts.size(); ++c) {
      const int64_t begin = c == 0 ? 0 : cuts[c - 1], end = c < cuts.size() ? cuts[c] : shape[d];
      std::vector<Piece> inside;
      for (auto piece : pieces) {
        if (piece.box[d].start < begin || piece.box[d].start >= end) continue;
        piece.box[d].start -= begin;
        inside.push_back(std::move(piece));
      }
      Shape slab = shape;
      slab[d] = end - begin;
      slabs.push_back(assemble(inside, slab, name));
    }
    return concatenated(std::move(slabs), static_cast<int64_t>(d), name);
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t step = step_along(pieces, d);
    if (step > 1) return interleaved(pieces, shape, d, step, name);
  }
  return overlaid(pieces, shape, name);
}

// Every `step`-th element along a dimension is assembled by itself. They are stacked behind it and merged;
// the last row may lack some.
ValueId Raising::interleaved(
    const std::vector<Piece>& pieces, const Shape& shape, size_t d, int64_t step, const std::string& name) {
  const int64_t rows = (shape[d] + step - 1) / step;
  std::vector<ValueId> columns;
  for (int64_t c = 0; c < step; ++c) {
    std::vector<Piece> inside;
    for (auto piece : pieces) {
      auto& digits = piece.box[d];
      if (digits.start % step != c) continue;
      digits.start /= step;
      if (digits.count > 1) digits.stride /= step;
      inside.push_back(std::move(piece));
    }
    Shape column = shape;
    column[d] = (shape[d] - c + step - 1) / step;
    ValueId v = assemble(inside, column, name);
    if (column[d] < rows) {
      column[d] = 1;
      v = concatenated({v, filled(0, graph_.type(v).dtype, column, name)}, static_cast<int64_t>(d), name);
    }
    column[d] = rows;
    column.insert(column.begin() + static_cast<int64_t>(d) + 1, 1);
    columns.push_back(reshaped(v, column, name));
  }
  ValueId v = concatenated(std::move(columns), static_cast<int64_t>(d) + 1, name);
  Shape merged = shape;
  merged[d] = rows * step;
  std::vector<Digits> dims;
  for (auto size : shape)
    dims.push_back({0, 1, size, {}});
  return sliced(reshaped(v, merged, name), dims, name);
}

// `stride` - 1 zeros after each element but the last along a dimension.
ValueId Raising::spaced(ValueId v, size_t d, int64_t stride, const std::string& name) {
  const Shape dense = shape(v);
  Shape apart = dense, between = dense, merged = dense;
  apart.insert(apart.begin() + static_cast<int64_t>(d) + 1, 1);
  between.insert(between.begin() + static_cast<int64_t>(d) + 1, stride - 1);
  merged[d] *= stride;
  v = concatenated(
      {reshaped(v, apart, name), filled(0, graph_.type(v).dtype, between, name)},
      static_cast<int64_t>(d) + 1,
      name);
  std::vector<Digits> dims;
  for (auto size : merged)
    dims.push_back({0, 1, size, {}});
  dims[d].count -= stride - 1;
  return sliced(reshaped(v, merged, name), dims, name);
}

// A piece in its place among zeros.
ValueId Raising::placed(Piece piece, const Shape& to, const std::string& name) {
  ValueId v = piece.value;
  for (size_t d = 0; d < to.size(); ++d) {
    const auto& digits = piece.box[d];
    if (digits.count > 1 && digits.stride > 1) v = spaced(v, d, digits.stride, name);
    auto margin = [&](int64_t size) {
      Shape around = shape(v);
      around[d] = size;
      return filled(0, graph_.type(v).dtype, around, name);
    };
    std::vector<ValueId> parts;
    if (digits.start > 0) parts.push_back(margin(digits.start));
    parts.push_back(v);
    if (digits.last() + 1 < to[d]) parts.push_back(margin(to[d] - digits.last() - 1));
    v = concatenated(std::move(parts), static_cast<int64_t>(d), name);
  }
  return v;
}

// Pieces that nothing takes apart (four around a fifth): chosen one over the other where each lies.
ValueId Raising::overlaid(const std::vector<Piece>& pieces, const Shape& to, const std::string& name) {
  ValueId all = placed(pieces[0], to, name);
  for (size_t p = 1; p < pieces.size(); ++p) {
    const ValueId ones = filled(1, Dtype::bool_, shape(pieces[p].value), name);
    const ValueId here = placed({ones, pieces[p].box}, to, name);
    all = add(Op::select, {here, placed(pieces[p], to, name), all}, name);
  }
  return all;
}

}  // namespace autoperfect

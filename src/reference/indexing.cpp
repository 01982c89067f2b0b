#include "reference/indexing.h"

#include <algorithm>
#include <numeric>

#include "reference/reduce.h"
#include "reference/views.h"
#include "support/result.h"

namespace autoperfect {

namespace {

using Ints = std::vector<int64_t>;
using Position = std::vector<int64_t>;

// Indices that are data, and whether all of them were inside.
class Indices {
 public:
  explicit Indices(const Node& node) : node_(node) {}

  int64_t at(const Array& array, int64_t element, int64_t size) {
    const int64_t given = array.integers[element];
    const bool is_huge = array.type.dtype == Dtype::u64 && given < 0;
    const int64_t index = given < 0 && !is_huge ? given + size : given;
    inside_ = inside_ && index >= 0 && index < size;
    return index;
  }

  // Where the index arrays of a gather or scatter point, one an axis, at one position of theirs.
  Position corner(const Operands& operands, int64_t element) {
    const auto& axes = node_.attributes.get<Ints>("axes");
    Position corner(operands[0]->type.shape.size(), 0);
    for (size_t k = 0; k < axes.size(); ++k)
      corner[axes[k]] = at(*operands[1 + k], element, operands[0]->type.shape[axes[k]]);
    return corner;
  }

  // A part of `shape` that begins at `corner` must end inside.
  void check_part(const Position& corner, const Shape& part, const Shape& shape) {
    for (size_t d = 0; d < part.size(); ++d)
      inside_ = inside_ && corner[d] >= 0 && corner[d] <= shape[d] - part[d];
  }

  Result<Array> checked(Array out) const {
    if (inside_) return out;
    return Diagnostic{
        "reference",
        "index-out-of-range",
        "an index of '" + std::string(name(node_.op)) + "' is out of range",
        node_.where};
  }
  bool inside() const { return inside_; }

 private:
  const Node& node_;
  bool inside_ = true;
};

int64_t place_of(const Position& corner, const Position& inner, const Ints& strides) {
  int64_t element = 0;
  for (size_t d = 0; d < strides.size(); ++d)
    element += (corner[d] + inner[d]) * strides[d];
  return element;
}

// What lands on an element, in the order in which it comes: it replaces what is there, or is combined with
// it.
class Landing {
 public:
  Landing(const Node& node, Precision precision)
      : reduce_(node.attributes.get_or("reduce", std::string())), rounds_(precision == Precision::exact) {}

  void put(Array& out, int64_t element, Scalar value) const {
    const Dtype dtype = out.type.dtype;
    const Scalar operands[] = {out.at(element), value};
    if (reduce_ == "sum" || reduce_ == "prod") {
      value = apply({reduce_ == "sum" ? Op::add : Op::mul, dtype, dtype, rounds_}, operands);
    } else if (reduce_ == "max") {
      value = less(dtype, value, operands[0]) ? operands[0] : value;
    } else if (reduce_ == "min") {
      value = less(dtype, operands[0], value) ? operands[0] : value;
    }
    out.set(element, value);
  }

 private:
  std::string reduce_;
  bool rounds_;
};

Shape indices_shape(const Operands& operands, size_t count) {
  return count == 0 ? Shape{} : operands[1]->type.shape;
}

// The shape of the index arrays, then that of the slice each of them points at.
Result<Array> gather(const Node& node, const Operands& operands, const TensorType& result) {
  const Array& source = *operands[0];
  const auto& sizes = node.attributes.get<Ints>("sizes");
  const auto strides = row_major_strides(source.type.shape);
  Array out(result);
  if (result.elements() == 0) return out;
  Indices indices(node);
  int64_t pointer = 0, element = 0;
  for_each_position(indices_shape(operands, operands.size() - 1), [&](const Position&) {
    const Position corner = indices.corner(operands, pointer++);
    indices.check_part(corner, sizes, source.type.shape);
    if (!indices.inside()) return;
    for_each_position(sizes, [&](const Position& inner) {
      out.set(element++, source.at(place_of(corner, inner, strides)));
    });
  });
  return indices.checked(std::move(out));
}

Result<Array> scatter(const Node& node, const Operands& operands, Precision precision) {
  const Array& updates = *operands.back();
  Array out = *operands[0];
  const Shape pointers = indices_shape(operands, operands.size() - 2);
  const Shape part(
      updates.type.shape.begin() + static_cast<int64_t>(pointers.size()), updates.type.shape.end());
  const auto strides = row_major_strides(out.type.shape);
  Indices indices(node);
  const Landing landing(node, precision);
  int64_t pointer = 0, element = 0;
  for_each_position(pointers, [&](const Position&) {
    const Position corner = indices.corner(operands, pointer++);
    indices.check_part(corner, part, out.type.shape);
    if (!indices.inside()) return;
    for_each_position(part, [&](const Position& inner) {
      landing.put(out, place_of(corner, inner, strides), updates.at(element++));
    });
  });
  return indices.checked(std::move(out));
}

// take_along_axis.
Result<Array> gather_axis(const Node& node, const Operands& operands, const TensorType& result) {
  const Array& source = *operands[0];
  const auto axis = node.attributes.get<int64_t>("axis");
  const Walk walk{0, row_major_strides(source.type.shape)};
  Array out(result);
  Indices indices(node);
  int64_t element = 0;
  for_each_position(result.shape, [&](Position position) {
    position[axis] = indices.at(*operands[1], element, source.type.shape[axis]);
    if (indices.inside()) out.set(element, source.at(walk.at(position)));
    ++element;
  });
  return indices.checked(std::move(out));
}

// put_along_axis: each index says where along the axis its own value goes.
Result<Array> scatter_axis(const Node& node, const Operands& operands, Precision precision) {
  Array out = *operands[0];
  const auto axis = node.attributes.get<int64_t>("axis");
  const Walk walk{0, row_major_strides(out.type.shape)};
  Indices indices(node);
  const Landing landing(node, precision);
  int64_t element = 0;
  for_each_position(operands[1]->type.shape, [&](Position position) {
    position[axis] = indices.at(*operands[1], element, out.type.shape[axis]);
    if (indices.inside()) landing.put(out, walk.at(position), operands[2]->at(element));
    ++element;
  });
  return indices.checked(std::move(out));
}

// Each row takes the next value of its own row of values where its mask is true.
Result<Array> masked_scatter(const Node& node, const Operands& operands) {
  Array out = *operands[0];
  const Array &mask = *operands[1], &values = *operands[2];
  const int64_t rows = out.type.shape[0];
  const int64_t length = rows ? out.type.elements() / rows : 0,
                given = rows ? values.type.elements() / rows : 0;
  bool enough = true;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t next = 0;
    for (int64_t i = row * length; i < (row + 1) * length; ++i) {
      if (!mask.integers[i]) continue;
      enough = enough && next < given;
      if (enough) out.set(i, values.at(row * given + next++));
    }
  }
  if (enough) return out;
  return Diagnostic{
      "reference", "too-few-values", "the mask asks for more values than there are", node.where};
}

Array slice_update(const Node& node, const Operands& operands, Precision precision) {
  Array out = *operands[0];
  const Walk walk = slice_walk(out.type.shape, node.attributes);
  const Landing landing(node, precision);
  int64_t element = 0;
  for_each_position(operands[1]->type.shape, [&](const Position& position) {
    landing.put(out, walk.at(position), operands[1]->at(element++));
  });
  return out;
}

// Where a part begins that data places. Here MLX counts no negative number from the end.
Position start_of_part(
    const Node& node, Indices& indices, const Array& start, const Shape& whole, const Shape& part) {
  Position corner(whole.size(), 0);
  const auto& axes = node.attributes.get<Ints>("axes");
  for (size_t k = 0; k < axes.size(); ++k)
    corner[axes[k]] = start.integers[k];
  indices.check_part(corner, part, whole);
  return corner;
}

Result<Array> dynamic_slice(const Node& node, const Operands& operands, const TensorType& result) {
  const Array& source = *operands[0];
  Array out(result);
  if (result.elements() == 0) return out;
  Indices indices(node);
  Walk walk{0, row_major_strides(source.type.shape)};
  walk.offset = walk.at(start_of_part(node, indices, *operands[1], source.type.shape, result.shape));
  if (!indices.inside()) return indices.checked(std::move(out));
  int64_t element = 0;
  for_each_position(
      result.shape, [&](const Position& position) { out.set(element++, source.at(walk.at(position))); });
  return out;
}

Result<Array> dynamic_slice_update(const Node& node, const Operands& operands) {
  const Array& update = *operands[1];
  Array out = *operands[0];
  if (update.type.elements() == 0) return out;
  Indices indices(node);
  Walk walk{0, row_major_strides(out.type.shape)};
  walk.offset = walk.at(start_of_part(node, indices, *operands[2], out.type.shape, update.type.shape));
  if (!indices.inside()) return indices.checked(std::move(out));
  int64_t element = 0;
  for_each_position(
      update.type.shape, [&](const Position& position) { out.set(walk.at(position), update.at(element++)); });
  return out;
}

Array pad(const Node& node, const Operands& operands, const TensorType& result) {
  const Array& source = *operands[0];
  Array out(result);
  for (int64_t i = 0; i < result.elements(); ++i)
    out.set(i, operands[1]->at(0));
  Walk walk{0, row_major_strides(result.shape)};
  const auto &axes = node.attributes.get<Ints>("axes"), &low = node.attributes.get<Ints>("low");
  for (size_t k = 0; k < axes.size(); ++k)
    walk.offset += low[k] * walk.strides[axes[k]];
  int64_t element = 0;
  for_each_position(
      source.type.shape, [&](const Position& position) { out.set(walk.at(position), source.at(element++)); });
  return out;
}

Array as_strided(const Node& node, const Array& source, const TensorType& result) {
  const Walk walk{node.attributes.get<int64_t>("offset"), node.attributes.get<Ints>("strides")};
  Array out(result);
  int64_t element = 0;
  for_each_position(
      result.shape, [&](const Position& position) { out.set(element++, source.at(walk.at(position))); });
  return out;
}

// The same bytes. Numbers of the oracle are rounded to have any.
Array bitcast(const Array& source, const TensorType& result) {
  Tensor bytes = tensor_of(source, Precision::exact);
  bytes.type = result;
  return array_of(bytes);
}

// Equal elements keep their order.
Array sort(const Node& node, const Array& source, const TensorType& result) {
  const auto axis = node.attributes.get<int64_t>("axis");
  const auto strides = row_major_strides(source.type.shape);
  const int64_t count = source.type.shape[axis], stride = strides[axis];
  Shape others = source.type.shape;
  others[axis] = 1;
  Array out(result);
  for_each_position(others, [&](const Position& position) {
    const int64_t first = Walk{0, strides}.at(position);
    Ints order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return sorts_before(source.type.dtype, source.at(first + a * stride), source.at(first + b * stride));
    });
    for (int64_t i = 0; i < count; ++i) {
      const Scalar index{0, order[i]}, element = source.at(first + order[i] * stride);
      out.set(first + i * stride, node.op == Op::arg_sort ? index : element);
    }
  });
  return out;
}

// How many elements come before each value, equal ones too when `right`.
Array search_sorted(const Node& node, const Operands& operands, const TensorType& result) {
  const Array &sorted = *operands[0], &values = *operands[1];
  const bool right = node.attributes.get_or("right", false);
  const Dtype dtype = sorted.type.dtype;
  Array out(result);
  for (int64_t i = 0; i < result.elements(); ++i) {
    int64_t low = 0, high = sorted.type.elements();
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const Scalar x = values.at(i), there = sorted.at(middle);
      const bool is_below = right ? !sorts_before(dtype, x, there) : sorts_before(dtype, there, x);
      (is_below ? low : high) = is_below ? middle + 1 : middle;
    }
    out.integers[i] = low;
  }
  return out;
}

}  // namespace

bool sorts_before(Dtype dtype, Scalar a, Scalar b) {
  return !is_nan(dtype, a) && (is_nan(dtype, b) || less(dtype, a, b));
}

std::optional<Result<Array>> run_indexing(
    const Node& node, const Operands& operands, const TensorType& result, Precision precision) {
  switch (node.op) {
    case Op::gather:
      return gather(node, operands, result);
    case Op::gather_axis:
      return gather_axis(node, operands, result);
    case Op::scatter:
      return scatter(node, operands, precision);
    case Op::scatter_axis:
      return scatter_axis(node, operands, precision);
    case Op::masked_scatter:
      return masked_scatter(node, operands);
    case Op::slice_update:
      return slice_update(node, operands, precision);
    case Op::dynamic_slice:
      return dynamic_slice(node, operands, result);
    case Op::dynamic_slice_update:
      return dynamic_slice_update(node, operands);
    case Op::pad:
      return pad(node, operands, result);
    case Op::as_strided:
      return as_strided(node, *operands[0], result);
    case Op::bitcast:
      return bitcast(*operands[0], result);
    case Op::concatenate:
      return concatenate(operands, node.attributes.get<int64_t>("axis"), result);
    case Op::sort:
    case Op::arg_sort:
      return sort(node, *operands[0], result);
    case Op::search_sorted:
      return search_sorted(node, operands, result);
    default:
      return std::nullopt;
  }
}

}  // namespace autoperfect

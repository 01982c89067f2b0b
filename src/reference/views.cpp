#include "reference/views.h"

#include <algorithm>

#include "support/result.h"

namespace autoperfect {

namespace {

Array gathered(const Array& source, const Walk& walk, const TensorType& result) {
  Array out(result);
  int64_t element = 0;
  for_each_position(result.shape, [&](const std::vector<int64_t>& position) {
    out.set(element++, source.at(walk.at(position)));
  });
  return out;
}

Walk transpose_walk(const Shape& from, const std::vector<int64_t>& axes) {
  const auto strides = row_major_strides(from);
  Walk walk;
  for (auto axis : axes)
    walk.strides.push_back(strides[axis]);
  return walk;
}

}  // namespace

Array run_view(const Node& node, const Array& operand, const TensorType& result) {
  const Shape& from = operand.type.shape;
  switch (node.op) {
    case Op::full:
    case Op::broadcast:
      return gathered(operand, broadcast_walk(from, result.shape), result);
    case Op::transpose:
      return gathered(
          operand, transpose_walk(from, node.attributes.get<std::vector<int64_t>>("axes")), result);
    case Op::slice:
      return gathered(operand, slice_walk(from, node.attributes), result);
    case Op::reshape: {
      Array out = operand;
      out.type = result;
      return out;
    }
    default:
      throw InternalError("not a view: " + std::string(name(node.op)));
  }
}

Walk slice_walk(const Shape& from, const Attributes& attributes) {
  const auto& start = attributes.get<std::vector<int64_t>>("start");
  const auto& steps = attributes.get<std::vector<int64_t>>("strides");
  const auto strides = row_major_strides(from);
  Walk walk;
  for (size_t d = 0; d < from.size(); ++d) {
    const int64_t wanted = start[d] < 0 ? start[d] + from[d] : start[d];
    const int64_t first = steps[d] < 0 ? std::min(wanted, from[d] - 1) : std::max<int64_t>(wanted, 0);
    walk.offset += first * strides[d];
    walk.strides.push_back(steps[d] * strides[d]);
  }
  return walk;
}

Array part_of(const Array& source, int64_t axis, int64_t begin, const TensorType& result) {
  Walk walk{0, row_major_strides(source.type.shape)};
  walk.offset = begin * walk.strides[axis];
  return gathered(source, walk, result);
}

Array concatenate(const std::vector<const Array*>& parts, int64_t axis, const TensorType& result) {
  Array out(result);
  Walk into{0, row_major_strides(result.shape)};
  for (const Array* part : parts) {
    int64_t element = 0;
    for_each_position(part->type.shape, [&](const std::vector<int64_t>& position) {
      out.set(into.at(position), part->at(element++));
    });
    into.offset += part->type.shape[axis] * into.strides[axis];
  }
  return out;
}

}  // namespace autoperfect

// Views, indexing and data movement.
#include "capture/applying.h"

namespace autoperfect::applying {

namespace {

Arrays middle(const Arrays& in, size_t last) {
  return {in.begin() + 1, in.end() - static_cast<ptrdiff_t>(last)};
}

array scatter(const Call& call) {
  auto indices = middle(call.in, 1);
  auto axes = call.integers("axes");
  const auto &x = call.in[0], &updates = call.in.back();
  auto reduce = call.text("reduce");
  if (reduce == "sum") return mx::scatter_add(x, indices, updates, axes);
  if (reduce == "prod") return mx::scatter_prod(x, indices, updates, axes);
  if (reduce == "max") return mx::scatter_max(x, indices, updates, axes);
  if (reduce == "min") return mx::scatter_min(x, indices, updates, axes);
  return mx::scatter(x, indices, updates, axes);
}

array slice_update(const Call& call) {
  auto start = call.shape("start"), stop = call.shape("stop"), strides = call.shape("strides");
  const auto &x = call.in[0], &update = call.in[1];
  auto reduce = call.text("reduce");
  if (reduce == "sum") return mx::slice_update_add(x, update, start, stop, strides);
  if (reduce == "prod") return mx::slice_update_prod(x, update, start, stop, strides);
  if (reduce == "max") return mx::slice_update_max(x, update, start, stop, strides);
  if (reduce == "min") return mx::slice_update_min(x, update, start, stop, strides);
  return mx::slice_update(x, update, start, stop, strides);
}

// MLX's function takes one row; a row of values is read in order, whatever its shape.
array masked_scatter(const Call& call) {
  Arrays rows;
  for (int row = 0; row < call.in[0].shape(0); ++row) {
    auto part = [&](size_t i) { return mx::take(call.in[i], row, 0); };
    rows.push_back(mx::masked_scatter(part(0), part(1), mx::flatten(part(2))));
  }
  return rows.empty() ? call.in[0] : mx::stack(rows, 0);
}

array as_strided(const Call& call) {
  const auto& strides = call.node.attributes.get<std::vector<int64_t>>("strides");
  auto offset = static_cast<size_t>(call.node.attributes.get<int64_t>("offset"));
  return mx::as_strided(call.in[0], call.result_shape(), mx::Strides(strides.begin(), strides.end()), offset);
}

}  // namespace

Arrays view(const Call& call) {
  const auto& x = call.in[0];
  switch (call.node.op) {
    case Op::broadcast:
      return {mx::broadcast_to(x, call.result_shape())};
    case Op::reshape:
      return {mx::reshape(x, call.result_shape())};
    case Op::transpose:
      return {mx::transpose(x, call.integers("axes"))};
    default:
      return {mx::slice(x, call.shape("start"), call.shape("stop"), call.shape("strides"))};
  }
}

Arrays indexing(const Call& call) {
  const auto& in = call.in;
  switch (call.node.op) {
    case Op::as_strided:
      return {as_strided(call)};
    case Op::bitcast:
      return {mx::view(in[0], call.dtype())};
    case Op::concatenate:
      return {mx::concatenate(in, call.integer("axis"))};
    case Op::pad:
      return {mx::pad(in[0], call.integers("axes"), call.shape("low"), call.shape("high"), in[1])};
    case Op::gather:
      return {mx::gather(in[0], middle(in, 0), call.integers("axes"), call.shape("sizes"))};
    case Op::gather_axis:
      return {mx::take_along_axis(in[0], in[1], call.integer("axis"))};
    case Op::scatter:
      return {scatter(call)};
    case Op::scatter_axis:
      if (call.node.attributes.has("reduce"))
        return {mx::scatter_add_axis(in[0], in[1], in[2], call.integer("axis"))};
      return {mx::put_along_axis(in[0], in[1], in[2], call.integer("axis"))};
    case Op::masked_scatter:
      return {masked_scatter(call)};
    case Op::slice_update:
      return {slice_update(call)};
    case Op::dynamic_slice:
      return {mx::slice(in[0], in[1], call.integers("axes"), call.shape("sizes"))};
    case Op::dynamic_slice_update:
      return {mx::slice_update(in[0], in[1], in[2], call.integers("axes"))};
    default:
      return {mx::searchsorted(in[0], in[1], call.flag("right") ? "right" : "left")};
  }
}

}  // namespace autoperfect::applying

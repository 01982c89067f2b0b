#include "reference/contractions.h"

#include <algorithm>

#include "reference/quantized.h"
#include "reference/reduce.h"
#include "support/result.h"

namespace autoperfect {

namespace {

using Operands = std::vector<const Array*>;
using Position = std::vector<int64_t>;
using Ints = std::vector<int64_t>;

// Sums over some of the inner axis, from `first` to before `end`: all of it for a matmul.
Scalar inner_product(
    const Array& a,
    const Array& b,
    int64_t at_a,
    int64_t step_a,
    int64_t at_b,
    int64_t step_b,
    int64_t count,
    Dtype dtype,
    Precision precision) {
  SumOfProducts sum(dtype, Dtype::f32, precision);
  for (int64_t k = 0; k < count; ++k)
    sum.add(a.at(at_a + k * step_a), b.at(at_b + k * step_b));
  return sum.result();
}

// [.., m, k] by [.., k, n], where batches broadcast. Each sum is given in `dtype`.
Array matmul(const Array& a, const Array& b, const TensorType& type, Precision precision) {
  Shape space_a = type.shape, space_b = type.shape;  // batch, then (row, depth) and (depth, column)
  const int64_t depth = a.type.shape.back();
  space_a.back() = depth;
  space_b[space_b.size() - 2] = depth;
  const Walk walk_a = broadcast_walk(a.type.shape, space_a), walk_b = broadcast_walk(b.type.shape, space_b);
  const size_t row = type.shape.size() - 2, column = row + 1;
  Array out(type);
  int64_t element = 0;
  for_each_position(type.shape, [&](const Position& position) {
    auto at_a = position, at_b = position;
    at_a[column] = at_b[row] = 0;
    const Scalar sum = inner_product(
        a,
        b,
        walk_a.at(at_a),
        walk_a.strides[column],
        walk_b.at(at_b),
        walk_b.strides[row],
        depth,
        type.dtype,
        precision);
    out.set(element++, sum);
  });
  return out;
}

// alpha * a @ b + beta * c in f32, whatever the dtype, and rounded at the end.
Array addmm(const Node& node, const Operands& operands, const TensorType& result, Precision precision) {
  const double alpha = node.attributes.get<double>("alpha"), beta = node.attributes.get<double>("beta");
  const Dtype wide = is_half(result.dtype) ? Dtype::f32 : result.dtype;
  auto round = [&](double x) { return precision == Precision::exact ? round_to(wide, x) : x; };
  const Array product = matmul(*operands[0], *operands[1], {wide, result.shape}, precision);
  const Walk walk = broadcast_walk(operands[2]->type.shape, result.shape);
  Array out(result);
  int64_t element = 0;
  for_each_position(result.shape, [&](const Position& position) {
    const double added = round(beta * operands[2]->reals[walk.at(position)]);
    const double sum = round(round(alpha * product.reals[element]) + added);
    out.set(element++, convert(wide, result.dtype, {sum}, precision == Precision::exact));
  });
  return out;
}

// The matrices that indices choose among the batches.
Result<Array> chosen(const Array& matrices, const Array& indices, const Node& node) {
  const Shape& shape = matrices.type.shape;
  const int64_t size = shape[shape.size() - 2] * shape.back();
  const int64_t count = size ? matrices.type.elements() / size : 0;
  Shape all = indices.type.shape;
  all.insert(all.end(), shape.end() - 2, shape.end());
  Array out({matrices.type.dtype, all});
  for (int64_t i = 0; i < indices.type.elements(); ++i) {
    const int64_t index = indices.integers[i] < 0 ? indices.integers[i] + count : indices.integers[i];
    if (index < 0 || index >= count)
      return Diagnostic{"reference", "index-out-of-range", "an index of a batch is out of range", node.where};
    for (int64_t e = 0; e < size; ++e)
      out.set(i * size + e, matrices.at(index * size + e));
  }
  return out;
}

Result<Array> gathered_product(
    const Node& node,
    const Array& a,
    const Array& b,
    const Operands& operands,
    const TensorType& result,
    Precision precision) {
  auto left = chosen(a, *operands[operands.size() - 2], node), right = chosen(b, *operands.back(), node);
  if (!left) return left.errors();
  if (!right) return right.errors();
  return matmul(*left, *right, result, precision);
}

Array transposed(const Array& matrices) {
  Shape shape = matrices.type.shape;
  std::swap(shape[shape.size() - 2], shape.back());
  Walk walk{0, row_major_strides(matrices.type.shape)};
  std::swap(walk.strides[shape.size() - 2], walk.strides.back());
  Array out({matrices.type.dtype, shape});
  int64_t element = 0;
  for_each_position(
      shape, [&](const Position& position) { out.set(element++, matrices.at(walk.at(position))); });
  return out;
}

Array unpacked(const Node& node, const Operands& operands, Precision precision) {
  Array w = dequantize(node, *operands[1], *operands[2], *operands[3], precision);
  return node.attributes.get_or("transpose", false) ? transposed(w) : w;
}

// Blocks of a matrix times a number of the mask, or nothing of those where it is false.
void apply_mask(Array& matrices, const Array& mask, int64_t block, Precision precision) {
  const Dtype dtype = matrices.type.dtype;
  const size_t row = matrices.type.shape.size() - 2;
  const Walk walk{0, row_major_strides(mask.type.shape)};
  int64_t element = 0;
  for_each_position(matrices.type.shape, [&](Position position) {
    position[row] /= block;
    position[row + 1] /= block;
    const Scalar factor = convert(mask.type.dtype, dtype, mask.at(walk.at(position)));
    const Scalar operands[] = {matrices.at(element), factor};
    const bool keeps = mask.type.dtype != Dtype::bool_ || factor.real != 0;
    const Scalar masked =
        keeps ? apply({Op::mul, dtype, dtype, precision == Precision::exact}, operands) : Scalar{};
    matrices.set(element++, masked);
  });
}

// Masks of the result, of both operands, or of all three, in this order.
Array block_masked_mm(
    const Node& node, const Operands& operands, const TensorType& result, Precision precision) {
  const int64_t block = node.attributes.get<int64_t>("block_size");
  const bool masks_result = operands.size() != 4, masks_operands = operands.size() != 3;
  Array a = *operands[0], b = *operands[1];
  if (masks_operands) {
    apply_mask(a, *operands[operands.size() - 2], block, precision);
    apply_mask(b, *operands[operands.size() - 1], block, precision);
  }
  Array out = matmul(a, b, result, precision);
  if (masks_result) apply_mask(out, *operands[2], block, precision);
  return out;
}

// One product for each pair of numbers, between which it sums.
Result<Array> segmented_mm(
    const Node& node, const Operands& operands, const TensorType& result, Precision precision) {
  const Array &a = *operands[0], &b = *operands[1], &segments = *operands[2];
  const int64_t rows = a.type.shape[0], depth = a.type.shape[1], columns = b.type.shape[1];
  Array out(result);
  int64_t element = 0;
  for (int64_t s = 0; s < segments.type.elements(); s += 2) {
    const int64_t first = segments.integers[s], end = segments.integers[s + 1];
    if (end > depth)
      return Diagnostic{"reference", "index-out-of-range", "a segment ends outside", node.where};
    const int64_t count = std::max<int64_t>(end - first, 0);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t at_a = i * depth + first, at_b = first * columns + j;
        out.set(element++, inner_product(a, b, at_a, 1, at_b, columns, count, result.dtype, precision));
      }
    }
  }
  return out;
}

// Whether a window that reaches over the edge multiplies zeros there, which shows where a weight is infinite
// or NaN, or leaves those terms out: MLX on the CPU gathers windows into a matrix where nothing is dilated.
bool multiplies_padding(const Node& node, size_t spatial) {
  auto all_one = [&](const char* name) {
    const auto& steps = node.attributes.get<Ints>(name);
    return std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; });
  };
  const bool grouped = node.attributes.get<int64_t>("groups") > 1;
  const bool gathers_groups = spatial == 1 && !node.attributes.get_or("flip", false);
  return all_one("kernel_dilation") && all_one("input_dilation") && (!grouped || gathers_groups);
}

// [n, spatial.., c] by [o, spatial.., c / groups]: each result is a sum over a window and the channels of its
// group.
Array conv(const Node& node, const Operands& operands, const TensorType& result, Precision precision) {
  const Array &x = *operands[0], &w = *operands[1];
  auto at = [&](const char* name, size_t d) { return node.attributes.get<Ints>(name)[d]; };
  const bool flips = node.attributes.get_or("flip", false);
  const size_t spatial = x.type.shape.size() - 2;
  const int64_t channels = w.type.shape.back();
  const int64_t results_per_group = w.type.shape[0] / node.attributes.get<int64_t>("groups");
  const Walk walk_x{0, row_major_strides(x.type.shape)}, walk_w{0, row_major_strides(w.type.shape)};
  const Shape window(w.type.shape.begin() + 1, w.type.shape.end() - 1);
  const bool with_padding = multiplies_padding(node, spatial);
  Array out(result);
  int64_t element = 0;
  for_each_position(result.shape, [&](const Position& position) {
    SumOfProducts sum(result.dtype, Dtype::f32, precision);
    for_each_position(window, [&](const Position& in_window) {
      Position at_x(x.type.shape.size(), 0), at_w(x.type.shape.size(), 0);
      at_x[0] = position[0];
      at_w[0] = position.back();
      bool inside = true;
      for (size_t d = 0; d < spatial; ++d) {
        const int64_t reach = position[d + 1] * at("strides", d) + in_window[d] * at("kernel_dilation", d) -
                              at("padding_low", d);
        const int64_t step = at("input_dilation", d);
        inside = inside && reach >= 0 && reach % step == 0 && reach / step < x.type.shape[d + 1];
        at_x[d + 1] = reach / step;
        at_w[d + 1] = flips ? window[d] - 1 - in_window[d] : in_window[d];
      }
      if (!inside && !with_padding) return;
      for (int64_t c = 0; c < channels; ++c) {
        at_x.back() = position.back() / results_per_group * channels + c;
        at_w.back() = c;
        sum.add(inside ? x.at(walk_x.at(at_x)) : Scalar{}, w.at(walk_w.at(at_w)));
      }
    });
    out.set(element++, sum.result());
  });
  return out;
}

}  // namespace

std::optional<Result<Array>> run_contraction(
    const Node& node, const Operands& operands, const TensorType& result, Precision precision) {
  switch (node.op) {
    case Op::matmul:
      return matmul(*operands[0], *operands[1], result, precision);
    case Op::addmm:
      return addmm(node, operands, result, precision);
    case Op::gather_mm:
      return gathered_product(node, *operands[0], *operands[1], operands, result, precision);
    case Op::block_masked_mm:
      return block_masked_mm(node, operands, result, precision);
    case Op::segmented_mm:
      return segmented_mm(node, operands, result, precision);
    case Op::conv:
      return conv(node, operands, result, precision);
    case Op::quantized_matmul:
      if (!is_affine(node)) return std::nullopt;
      return matmul(*operands[0], unpacked(node, operands, precision), result, precision);
    case Op::gather_qmm:
      if (!is_affine(node)) return std::nullopt;
      return gathered_product(
          node, *operands[0], unpacked(node, operands, precision), operands, result, precision);
    default:
      return std::nullopt;
  }
}

}  // namespace autoperfect

// Quantized matrices: w packed in u32 along its last axis, with a scale (and in affine mode a bias) for each
// group of elements.
#include <fmt/format.h>

#include <algorithm>

#include "ir/infer_rules.h"
#include "ir/shape.h"

namespace autoperfect::infer_rules {

namespace {

struct Packing {
  int64_t bits, group_size;
  bool affine, valid;
};

Packing packing_of(const Attributes& attributes) {
  auto mode = attributes.get<std::string>("mode");
  Packing packing{
      attributes.get<int64_t>("bits"), attributes.get<int64_t>("group_size"), mode == "affine", false};
  auto is = [&](const char* known, int64_t bits, int64_t group) {
    return mode == known && packing.bits == bits && packing.group_size == group;
  };
  bool group = packing.group_size == 16 || packing.group_size == 32 || packing.group_size == 64 ||
               packing.group_size == 128;
  bool bits = packing.bits >= 2 && packing.bits <= 8 && packing.bits != 7;
  packing.valid =
      (packing.affine && bits && group) || is("mxfp4", 4, 32) || is("mxfp8", 8, 32) || is("nvfp4", 4, 16);
  return packing;
}

Diagnostic unknown_packing() {
  return rule_broken(
      "attribute-value",
      "MLX has no such packing",
      "affine with 2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128, mxfp4, mxfp8 or nvfp4");
}

Diagnostic not_packed(const TensorType& w, const TensorType& scales) {
  return rule_broken(
      "shape-mismatch", fmt::format("{} is not packed with scales {}", to_string(w), to_string(scales)));
}

// Elements along the last axis of the matrix that w packs; -1 when its scales do not fit.
int64_t unpacked_columns(const TensorType& w, const TensorType& scales, const Packing& packing) {
  if (w.dtype != Dtype::u32 || w.rank() < 2 || scales.rank() != w.rank()) return -1;
  if (!std::equal(w.shape.begin(), w.shape.end() - 1, scales.shape.begin())) return -1;
  if (!packing.affine && scales.dtype != Dtype::u8) return -1;
  int64_t columns = w.shape.back() * 32 / packing.bits;
  return columns == scales.shape.back() * packing.group_size ? columns : -1;
}

// x by the matrix that w packs: the shape of one product, x's batch left to the caller.
Result<TensorType> infer_packed_product(
    const Types& operands, const Attributes& attributes, const Packing& packing) {
  const auto &x = operands[0], &w = operands[1], &scales = operands[2];
  auto columns = unpacked_columns(w, scales, packing);
  if (columns < 0) return not_packed(w, scales);
  if (packing.affine && !(operands[3] == scales))
    return rule_broken("shape-mismatch", "biases have the type of the scales");
  if (!is_floating(x.dtype) || (packing.affine && scales.dtype != x.dtype))
    return rule_broken("dtype-mismatch", "the operand and the scales have one floating dtype");
  auto rows = w.shape[w.rank() - 2];
  bool transposed = attributes.get_or("transpose", false);
  if (x.rank() < 1 || x.shape.back() != (transposed ? columns : rows))
    return rule_broken("shape-mismatch", fmt::format("cannot multiply {} by {}", to_string(x), to_string(w)));
  TensorType out{x.dtype, x.shape};
  out.shape.back() = transposed ? rows : columns;
  return out;
}

}  // namespace

Result<TensorType> infer_quantized_matmul(const Types& operands, const Attributes& attributes) {
  auto packing = packing_of(attributes);
  if (!packing.valid) return unknown_packing();
  if (operands.size() != (packing.affine ? 4u : 3u))
    return rule_broken("arity", "'quantized_matmul' takes x, w, scales and, in affine mode, biases");
  const auto &x = operands[0], &w = operands[1];
  bool batched = w.rank() > 2;
  bool fits =
      !batched || (x.rank() == w.rank() && std::equal(x.shape.begin(), x.shape.end() - 2, w.shape.begin()));
  if (!fits) return rule_broken("shape-mismatch", "the batches of x and w are not the same");
  auto out = infer_packed_product(operands, attributes, packing);
  return out ? checked(*out) : out;
}

Result<TensorType> infer_gather_qmm(const Types& operands, const Attributes& attributes) {
  auto packing = packing_of(attributes);
  if (!packing.valid) return unknown_packing();
  if (operands.size() != (packing.affine ? 6u : 5u))
    return rule_broken(
        "arity", "'gather_qmm' takes x, w, scales, in affine mode biases, and two arrays of indices");
  const auto &x = operands[0], &left = operands[operands.size() - 2], &right = operands.back();
  if (x.rank() < 2) return rule_broken("rank-mismatch", "'gather_qmm' needs at least two axes");
  auto product = infer_packed_product(operands, attributes, packing);
  if (!product) return product;
  if (!is_integer(left.dtype) || !(left == right))
    return rule_broken("shape-mismatch", "batch indices are integers of one dtype and shape");
  TensorType out{product->dtype, left.shape};
  out.shape.insert(out.shape.end(), product->shape.end() - 2, product->shape.end());
  return checked(out);
}

// Both operands quantized on the way: w packed with scales, or not; both global scales, or none.
Result<TensorType> infer_qq_matmul(Op op, const Types& operands, const Attributes& attributes) {
  auto packing = packing_of(attributes);
  if (!packing.valid || packing.affine) return unknown_packing();
  size_t gathered = op == Op::gather_qqmm ? 2 : 0;
  auto extra = operands.size() - std::min<size_t>(operands.size(), 2 + gathered);
  if (operands.size() < 2 + gathered || extra > 3)
    return rule_broken("arity", fmt::format("'{}' does not take {} operands", name(op), operands.size()));
  const auto &x = operands[0], &w = operands[1];
  if (!is_floating(x.dtype) || x.rank() < 2 || w.rank() < 2)
    return rule_broken("dtype-not-allowed", "the first operand is a floating matrix");
  bool packed = extra % 2 == 1;
  auto columns = packed ? unpacked_columns(w, operands[2 + gathered], packing) : w.shape.back();
  if (columns < 0) return not_packed(w, operands[2 + gathered]);
  if (columns != x.shape.back())
    return rule_broken("shape-mismatch", fmt::format("cannot multiply {} by {}", to_string(x), to_string(w)));
  auto rows = w.shape[w.rank() - 2];
  if (gathered == 0) {
    TensorType out = x;
    out.shape.back() = rows;
    return checked(out);
  }
  if (!is_integer(operands[2].dtype) || !(operands[2] == operands[3]))
    return rule_broken("shape-mismatch", "batch indices are integers of one dtype and shape");
  TensorType out{x.dtype, operands[2].shape};
  out.shape.insert(out.shape.end(), {x.shape[x.rank() - 2], rows});
  return checked(out);
}

Result<Types> infer_quantize(const Types& operands, const Attributes& attributes) {
  auto packing = packing_of(attributes);
  if (!packing.valid) return unknown_packing();
  if (operands.empty() || operands.size() > (packing.affine ? 1u : 2u))
    return rule_broken("arity", "'quantize' takes a matrix and, unless in affine mode, a scale");
  const auto& w = operands[0];
  if (!is_floating(w.dtype) || w.rank() < 2 || w.shape.back() % packing.group_size != 0)
    return rule_broken("shape-mismatch", fmt::format("{} has no whole groups to quantize", to_string(w)));
  TensorType packed{Dtype::u32, w.shape}, scales{packing.affine ? w.dtype : Dtype::u8, w.shape};
  packed.shape.back() = w.shape.back() * packing.bits / 32;
  scales.shape.back() = w.shape.back() / packing.group_size;
  return packing.affine ? Types{packed, scales, scales} : Types{packed, scales};
}

Result<TensorType> infer_dequantize(const Types& operands, const Attributes& attributes) {
  auto packing = packing_of(attributes);
  if (!packing.valid) return unknown_packing();
  bool fits = operands.size() == 3 || (!packing.affine && operands.size() == 2);
  if (!fits)
    return rule_broken("arity", "'dequantize' takes w, scales, in affine mode biases, else maybe a scale");
  auto columns = unpacked_columns(operands[0], operands[1], packing);
  if (columns < 0) return not_packed(operands[0], operands[1]);
  auto dtype = attributes.get<Dtype>("dtype");
  bool typed = !packing.affine || (operands[2] == operands[1] && operands[1].dtype == dtype);
  if (!is_floating(dtype) || !typed)
    return rule_broken("dtype-mismatch", "the result has the floating dtype of scales and biases");
  TensorType out{dtype, operands[0].shape};
  out.shape.back() = columns;
  return checked(out);
}

}  // namespace autoperfect::infer_rules

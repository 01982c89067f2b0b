// Contractions: products of matrices in all of MLX's forms, and convolutions.
#include <fmt/format.h>

#include "ir/infer_dtype.h"
#include "ir/infer_rules.h"
#include "ir/shape.h"

namespace autoperfect::infer_rules {

namespace {

using Ints = std::vector<int64_t>;

Shape batch_of(const TensorType& type) {
  return {type.shape.begin(), type.shape.end() - 2};
}

int64_t blocks(int64_t size, int64_t block) {
  return (size + block - 1) / block;
}

Diagnostic cannot_multiply(const TensorType& a, const TensorType& b) {
  return rule_broken(
      "shape-mismatch", fmt::format("cannot multiply {} by {}", to_string(a.shape), to_string(b.shape)));
}

// [.., m, k] by [.., k, n], floating (or complex where `complex`), of one dtype.
Status check_matrices(Op op, const TensorType& a, const TensorType& b, bool complex) {
  bool allowed = is_floating(a.dtype) || (complex && a.dtype == Dtype::c64);
  if (!allowed || a.dtype != b.dtype) {
    auto code = a.dtype == b.dtype ? "dtype-not-allowed" : "dtype-mismatch";
    auto message = fmt::format("'{}' does not take {} and {}", name(op), name(a.dtype), name(b.dtype));
    return rule_broken(code, message, "both have the same floating dtype");
  }
  if (a.rank() < 2 || b.rank() < 2)
    return rule_broken("rank-mismatch", fmt::format("'{}' needs at least two axes of each", name(op)));
  if (a.shape.back() != b.shape[b.rank() - 2]) return cannot_multiply(a, b);
  return Success{};
}

Result<TensorType> infer_product(Op op, const TensorType& a, const TensorType& b, bool complex) {
  if (auto status = check_matrices(op, a, b, complex); !status) return status.errors();
  auto shape = broadcast_shapes(batch_of(a), batch_of(b));
  if (!shape) return cannot_multiply(a, b);
  shape->push_back(a.shape[a.rank() - 2]);
  shape->push_back(b.shape.back());
  return checked({a.dtype, std::move(*shape)});
}

// Indices into the batches of two operands; the result has one product for each pair.
Result<TensorType> infer_gathered(
    Dtype dtype, const TensorType& left, const TensorType& right, Ints product) {
  if (!is_integer(left.dtype) || !(left == right))
    return rule_broken("shape-mismatch", "batch indices are integers of one dtype and shape");
  product.insert(product.begin(), left.shape.begin(), left.shape.end());
  return checked({dtype, std::move(product)});
}

}  // namespace

Result<TensorType> infer_matmul(const TensorType& a, const TensorType& b) {
  return infer_product(Op::matmul, a, b, true);
}

Result<TensorType> infer_addmm(const Types& operands) {
  auto out = infer_product(Op::addmm, operands[0], operands[1], false);
  if (!out) return out;
  if (operands[2].dtype != out->dtype || !broadcasts_to(operands[2].shape, out->shape)) {
    auto message = fmt::format("cannot add {} to {}", to_string(operands[2]), to_string(*out));
    return rule_broken("shape-mismatch", message);
  }
  return out;
}

// Masks of blocks: of the result, of both operands, or of all three, in this order.
Result<TensorType> infer_block_masked_mm(const Types& operands, int64_t block) {
  if (operands.size() < 3 || operands.size() > 5)
    return rule_broken("arity", "'block_masked_mm' takes two matrices and one to three masks");
  if (block != 32 && block != 64) return rule_broken("attribute-value", "blocks have 32 or 64 rows");
  const auto &a = operands[0], &b = operands[1];
  if (auto status = check_matrices(Op::block_masked_mm, a, b, false); !status) return status.errors();
  if (batch_of(a) != batch_of(b)) return cannot_multiply(a, b);
  TensorType out{a.dtype, a.shape};
  out.shape.back() = b.shape.back();
  std::vector<Shape> masked;
  if (operands.size() != 4) masked.push_back(out.shape);
  if (operands.size() != 3) masked.insert(masked.end(), {a.shape, b.shape});
  for (size_t i = 0; i < masked.size(); ++i) {
    auto& mask = masked[i];
    for (size_t d = mask.size() - 2; d < mask.size(); ++d)
      mask[d] = blocks(mask[d], block);
    const auto& given = operands[2 + i];
    if (given.shape != mask || (given.dtype != Dtype::bool_ && given.dtype != a.dtype))
      return rule_broken(
          "shape-mismatch", fmt::format("a mask is {}, not {}", to_string(mask), to_string(given)));
  }
  return checked(out);
}

Result<TensorType> infer_gather_mm(const Types& operands) {
  const auto &a = operands[0], &b = operands[1];
  if (auto status = check_matrices(Op::gather_mm, a, b, false); !status) return status.errors();
  return infer_gathered(a.dtype, operands[2], operands[3], {a.shape[a.rank() - 2], b.shape.back()});
}

Result<TensorType> infer_segmented_mm(const Types& operands) {
  const auto &a = operands[0], &b = operands[1], &segments = operands[2];
  if (auto status = check_matrices(Op::segmented_mm, a, b, false); !status) return status.errors();
  if (a.rank() != 2 || b.rank() != 2)
    return rule_broken("rank-mismatch", "'segmented_mm' takes two matrices");
  if (segments.dtype != Dtype::u32 || segments.rank() < 1 || segments.shape.back() != 2)
    return rule_broken("shape-mismatch", "segments are pairs of u32, first and one past the last");
  TensorType out{a.dtype, segments.shape};
  out.shape.back() = a.shape[0];
  out.shape.push_back(b.shape[1]);
  return checked(out);
}

// [batch, spatial.., channels] by [results, spatial.., channels / groups].
Result<TensorType> infer_conv(const Types& operands, const Attributes& attributes) {
  const auto &x = operands[0], &w = operands[1];
  if (!is_floating(x.dtype) || x.dtype != w.dtype)
    return rule_broken("dtype-not-allowed", "'conv' takes two arrays of one floating dtype");
  if (x.rank() != w.rank() || x.rank() < 3 || x.rank() > 5)
    return rule_broken("rank-mismatch", "'conv' has one to three spatial axes");
  auto groups = attributes.get<int64_t>("groups");
  bool grouped = groups > 0 && w.shape[0] % groups == 0 && x.shape.back() % groups == 0;
  if (!grouped || x.shape.back() / groups != w.shape.back()) {
    auto message = fmt::format("{} channels, {} groups and {}", x.shape.back(), groups, to_string(w.shape));
    return rule_broken("shape-mismatch", message, "channels are those of the kernel, times groups");
  }
  size_t spatial = x.shape.size() - 2;
  auto at = [&](const char* name, size_t d) { return attributes.get<Ints>(name).at(d); };
  for (auto* each : {"strides", "kernel_dilation", "input_dilation", "padding_low", "padding_high"}) {
    if (attributes.get<Ints>(each).size() != spatial)
      return rule_broken("rank-mismatch", fmt::format("'{}' needs {} numbers", each, spatial));
  }
  TensorType out{x.dtype, x.shape};
  out.shape.back() = w.shape[0];
  for (size_t d = 0; d < spatial; ++d) {
    bool possible = at("strides", d) > 0 && at("kernel_dilation", d) > 0 && at("input_dilation", d) > 0;
    if (!possible) return rule_broken("attribute-value", "strides and dilations are positive");
    auto dilated = [](int64_t n, int64_t dilation) { return static_cast<__int128>(n - 1) * dilation + 1; };
    auto room =
        dilated(x.shape[d + 1], at("input_dilation", d)) - dilated(w.shape[d + 1], at("kernel_dilation", d));
    room += static_cast<__int128>(at("padding_low", d)) + at("padding_high", d);
    if (room < 0 || room > max_elements) return rule_broken("shape-mismatch", "the kernel does not fit");
    out.shape[d + 1] = static_cast<int64_t>(room) / at("strides", d) + 1;
  }
  return checked(out);
}

Result<TensorType> infer_hadamard(const TensorType& x) {
  if (!is_floating(x.dtype)) return rule_broken("dtype-not-allowed", "'hadamard' takes a floating dtype");
  int64_t n = x.rank() > 0 ? x.shape.back() : 0;
  while (n > 0 && n % 2 == 0 && n != 12 && n != 20 && n != 28)
    n /= 2;
  if (x.elements() == 0 || (n != 1 && n != 12 && n != 20 && n != 28))
    return rule_broken("shape-mismatch", "the last axis has 1, 12, 20 or 28 times a power of two elements");
  return x;
}

}  // namespace autoperfect::infer_rules

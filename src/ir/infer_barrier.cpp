// Barriers that attributes describe whole: sorts, random bits, Fourier transforms, factorizations, order of
// effects.
#include <fmt/format.h>

#include <algorithm>

#include "ir/infer_rules.h"
#include "ir/shape.h"

namespace autoperfect::infer_rules {

namespace {

Diagnostic not_a_matrix(Op op, const TensorType& type, const char* hint) {
  return rule_broken("shape-mismatch", fmt::format("'{}' does not take {}", name(op), to_string(type)), hint);
}

// f32 or f64, c64 where `complex`; [.., m, n], square where `square`.
Status check_matrix(Op op, const TensorType& a, bool complex, bool square) {
  bool typed = a.dtype == Dtype::f32 || a.dtype == Dtype::f64 || (complex && a.dtype == Dtype::c64);
  if (!typed)
    return rule_broken("dtype-not-allowed", fmt::format("'{}' does not take {}", name(op), name(a.dtype)));
  if (a.rank() < 2) return not_a_matrix(op, a, "it takes matrices");
  if (square && a.shape.back() != a.shape[a.rank() - 2])
    return not_a_matrix(op, a, "it takes square matrices");
  return Success{};
}

TensorType with_last(TensorType type, std::initializer_list<int64_t> last, Dtype dtype) {
  type.shape.resize(type.shape.size() - 2);
  type.shape.insert(type.shape.end(), last);
  type.dtype = dtype;
  return type;
}

Result<Types> infer_svd(const TensorType& a, bool compute_uv) {
  auto m = a.shape[a.rank() - 2], n = a.shape.back();
  auto values = with_last(a, {std::min(m, n)}, a.dtype == Dtype::c64 ? Dtype::f32 : a.dtype);
  if (!compute_uv) return Types{values};
  return Types{with_last(a, {m, m}, a.dtype), values, with_last(a, {n, n}, a.dtype)};
}

}  // namespace

Result<TensorType> infer_sort(Op op, const TensorType& operand, const Attributes& attributes) {
  auto axis = attributes.get<int64_t>("axis");
  if (auto status = check_distinct_axes({axis}, operand.rank()); !status) return status.errors();
  bool partition = op == Op::partition || op == Op::arg_partition;
  auto kth = attributes.get_or("kth", int64_t{0});
  if (partition && (kth < 0 || kth >= operand.shape[axis]))
    return rule_broken("attribute-value", fmt::format("there is no element {} along axis {}", kth, axis));
  bool arguments = op == Op::arg_sort || op == Op::arg_partition;
  return TensorType{arguments ? Dtype::u32 : operand.dtype, operand.shape};
}

// Each pair of the key gives an equal share of the result, in order.
Result<TensorType> infer_random_bits(const TensorType& key, const Attributes& attributes) {
  if (key.dtype != Dtype::u32 || key.rank() == 0 || key.shape.back() != 2 || key.elements() == 0)
    return rule_broken("shape-mismatch", fmt::format("{} is no key: keys are pairs of u32", to_string(key)));
  auto width = attributes.get<int64_t>("width");
  if (width != 1 && width != 2 && width != 4)
    return rule_broken("attribute-value", "random bits come in widths of 1, 2 or 4 bytes");
  auto out = checked(
      {width == 1   ? Dtype::u8
       : width == 2 ? Dtype::u16
                    : Dtype::u32,
       attributes.get<Shape>("shape")});
  if (out && out->elements() % (key.elements() / 2) != 0)
    return rule_broken(
        "shape-mismatch", fmt::format("{} keys do not share {}", key.elements() / 2, to_string(*out)));
  return out;
}

// real: between f32 and the half of c64 that is not redundant, along the last of the axes.
Result<TensorType> infer_fft(const TensorType& operand, const Attributes& attributes) {
  const auto& axes = attributes.get<std::vector<int64_t>>("axes");
  if (auto status = check_distinct_axes(axes, operand.rank()); !status) return status.errors();
  bool real = attributes.get_or("real", false), inverse = attributes.get_or("inverse", false);
  bool odd = attributes.get_or("odd", false);
  if (axes.empty()) return rule_broken("axis-range", "'fft' needs an axis");
  for (auto axis : axes) {
    if (operand.shape[axis] == 0) return rule_broken("shape-mismatch", "'fft' over an axis of size 0");
  }
  auto wanted = real && !inverse ? Dtype::f32 : Dtype::c64;
  if (operand.dtype != wanted)
    return rule_broken("dtype-mismatch", fmt::format("this 'fft' takes {}", name(wanted)));
  TensorType out{real && inverse ? Dtype::f32 : Dtype::c64, operand.shape};
  auto& last = out.shape[axes.back()];
  if (real) last = inverse ? (last - 1) * 2 + odd : last / 2 + 1;
  if (last <= 0 || (odd && !(real && inverse)))
    return rule_broken("shape-mismatch", "this 'fft' gives nothing");
  return checked(out);
}

Result<Types> infer_factorization(Op op, const TensorType& a, const Attributes& attributes) {
  bool complex = op == Op::svd || op == Op::eig || op == Op::eigh;
  bool square = op == Op::inverse || op == Op::cholesky || op == Op::eig || op == Op::eigh;
  if (auto status = check_matrix(op, a, complex, square); !status) return status.errors();
  auto m = a.shape[a.rank() - 2], n = a.shape.back(), k = std::min(m, n);
  bool vectors = attributes.get_or("vectors", false);
  switch (op) {
    case Op::qr:
      return Types{with_last(a, {m, k}, a.dtype), with_last(a, {k, n}, a.dtype)};
    case Op::svd:
      return infer_svd(a, attributes.get_or("compute_uv", false));
    case Op::lu:
      return Types{a, with_last(a, {k}, Dtype::u32), with_last(a, {m}, Dtype::u32)};
    case Op::eig: {
      auto values = with_last(a, {n}, Dtype::c64);
      return vectors ? Types{values, with_last(a, {n, n}, Dtype::c64)} : Types{values};
    }
    case Op::eigh: {
      auto uplo = attributes.get<std::string>("uplo");
      if (uplo != "L" && uplo != "U") return rule_broken("attribute-value", "uplo is \"L\" or \"U\"");
      auto values = with_last(a, {n}, a.dtype == Dtype::c64 ? Dtype::f32 : a.dtype);
      return vectors ? Types{values, a} : Types{values};
    }
    default:
      return Types{a};  // inverse, cholesky
  }
}

Result<Types> infer_depends(const Types& operands, const Attributes& attributes) {
  auto count = attributes.get<int64_t>("outputs");
  if (count < 1 || count > static_cast<int64_t>(operands.size()))
    return rule_broken(
        "attribute-value", fmt::format("{} operands cannot give {} results", operands.size(), count));
  return Types(operands.begin(), operands.begin() + count);
}

}  // namespace autoperfect::infer_rules

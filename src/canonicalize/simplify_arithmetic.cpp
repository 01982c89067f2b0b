#include <cmath>

#include "canonicalize/parts.h"
#include "canonicalize/passes.h"
#include "ir/scalar_semantics.h"

namespace autoperfect {

namespace {

// The number every element of a floating constant is.
std::optional<double> real_constant(const Rewriter& to, ValueId v) {
  if (!is_floating(to.type(v).dtype)) return std::nullopt;
  return constant_number(to, v);
}

std::optional<ValueId> operand_of(const Rewriter& to, ValueId v, Op op) {
  const Node* node = to.producer(v, op);
  if (!node) return std::nullopt;
  return node->operands[0];
}

// -v where v is a negation, or a product with one: a sign changes nothing else of a product.
std::optional<ValueId> without_sign(Rewriter& to, ValueId v) {
  if (const auto positive = operand_of(to, v, Op::neg)) return positive;
  const Node* product = to.producer(v, Op::mul);
  if (!product) return std::nullopt;
  const ValueId a = product->operands[0], b = product->operands[1];
  if (const auto positive = operand_of(to, a, Op::neg))
    return to.add(Op::mul, {*positive, b}, {}, "_positive");
  if (const auto positive = operand_of(to, b, Op::neg))
    return to.add(Op::mul, {a, *positive}, {}, "_positive");
  return std::nullopt;
}

// 1 / c where that is exact, a normal number in the dtype, and so the product rounds as the quotient does.
std::optional<double> exact_reciprocal(double c, Dtype dtype) {
  int exponent = 0;
  const double mantissa = std::frexp(c, &exponent);
  const int most = dtype == Dtype::f16 ? 14 : dtype == Dtype::f64 ? 1000 : 125;
  if (std::fabs(mantissa) != 0.5 || std::abs(exponent) > most) return std::nullopt;
  return 1 / c;
}

std::optional<ValueId> simplify_product(Rewriter& to, const NewNode& node) {
  const ValueId a = node.operands[0], b = node.operands[1];
  if (a == b && node.type.dtype != Dtype::bool_) return to.add(Op::square, {a});
  if (real_constant(to, b) == -1.0 && to.shape(a) == node.type.shape) return to.add(Op::neg, {a});
  return std::nullopt;
}

std::optional<ValueId> simplify_quotient(Rewriter& to, const NewNode& node) {
  const ValueId a = node.operands[0], b = node.operands[1];
  const Dtype dtype = node.type.dtype;
  if (const auto c = real_constant(to, b)) {
    const auto reciprocal = exact_reciprocal(*c, dtype);
    if (!reciprocal) return std::nullopt;
    return to.add(Op::mul, {a, to.add_constant(*reciprocal, dtype)});
  }
  const auto root = operand_of(to, b, Op::sqrt);
  if (root && real_constant(to, a) == 1.0 && to.shape(a).empty()) return to.add(Op::rsqrt, {*root});
  return std::nullopt;
}

std::optional<ValueId> simplify_difference(Rewriter& to, const NewNode& node) {
  const ValueId a = node.operands[0], b = node.operands[1];
  if (const auto c = real_constant(to, b)) return to.add(Op::add, {a, to.add_constant(-*c, node.type.dtype)});
  if (const auto positive = without_sign(to, b)) return to.add(Op::add, {a, *positive});
  return std::nullopt;
}

std::optional<ValueId> simplify_sum(Rewriter& to, const NewNode& node) {
  for (int i = 0; i < 2; ++i) {
    if (const auto positive = without_sign(to, node.operands[i]))
      return to.add(Op::sub, {node.operands[1 - i], *positive});
  }
  return std::nullopt;
}

std::optional<ValueId> simplify_negation(Rewriter& to, const NewNode& node) {
  const Node* inner = to.producer(node.operands[0]);
  if (!inner || inner->operands.empty()) return std::nullopt;
  const auto operands = inner->operands;
  switch (inner->op) {
    case Op::logical_not:
      return operands[0];
    case Op::equal:
      if (inner->attributes.get_or("nan_equal", false)) return std::nullopt;
      return to.add(Op::not_equal, operands);
    case Op::not_equal:
      return to.add(Op::equal, operands);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<ValueId> simplify_arithmetic(Rewriter& to, const NewNode& node) {
  if (node.type.dtype == Dtype::c64) return std::nullopt;
  switch (node.op) {
    case Op::mul:
      return simplify_product(to, node);
    case Op::div:
      return simplify_quotient(to, node);
    case Op::sub:
      return simplify_difference(to, node);
    case Op::add:
      return simplify_sum(to, node);
    case Op::power:  // in f64 a power need not be the rounded product
      if (node.type.dtype == Dtype::f64 || real_constant(to, node.operands[1]) != 2.0 ||
          to.shape(node.operands[0]) != node.type.shape)
        return std::nullopt;
      return to.add(Op::square, {node.operands[0]});
    case Op::neg:
      return without_sign(to, node.operands[0]);
    case Op::logical_not:
      return simplify_negation(to, node);
    case Op::logical_and:
    case Op::logical_or:
    case Op::maximum:
    case Op::minimum:
      if (node.operands[0] != node.operands[1]) return std::nullopt;
      return node.operands[0];
    case Op::select: {
      const ValueId then = node.operands[1], otherwise = node.operands[2];
      if (then == otherwise) return to.add_broadcast(then, node.type.shape);
      if (const auto condition = operand_of(to, node.operands[0], Op::logical_not))
        return to.add(Op::select, {*condition, otherwise, then});
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace autoperfect

#include <algorithm>
#include <limits>

#include "canonicalize/composer.h"
#include "canonicalize/passes.h"
#include "ir/scalar_semantics.h"

namespace autoperfect {

namespace {

Attributes over(const std::vector<int64_t>& axes, bool keepdims) {
  Attributes attributes;
  attributes.set("axes", axes);
  if (keepdims) attributes.set("keepdims", true);
  return attributes;
}

bool is_lowered(Op op) {
  switch (op) {
    case Op::softmax:
    case Op::logsumexp:
    case Op::log_softmax:
    case Op::mean:
    case Op::var:
    case Op::std:
      return true;
    default:
      return false;
  }
}

// Writes one composite node.
class Lowering {
 public:
  Lowering(Rewriter& to, const NewNode& node) : to_(to), node_(node), type_(node.type) {}

  ValueId run() {
    switch (node_.op) {
      case Op::softmax:
        return softmax();
      case Op::logsumexp:
        return logsumexp(operand());
      case Op::log_softmax:
        return log_softmax();
      case Op::mean:
        return to_.add(Op::mul, {total(keepdims()), constant(1 / count(), "_inv_n")});
      case Op::var:
        return var();
      case Op::std:
        return to_.add(Op::sqrt, {var()}, {});
      default:
        throw InternalError("[canonicalize] no way to lower " + std::string(name(node_.op)));
    }
  }

 private:
  ValueId add(Op op, std::vector<ValueId> operands, const char* suffix, Attributes attributes = {}) {
    return to_.add(op, std::move(operands), std::move(attributes), suffix);
  }
  ValueId constant(double value, const char* suffix) { return constant_of(value, type_.dtype, suffix); }
  ValueId constant_of(double value, Dtype dtype, const char* suffix) {
    return to_.add_constant(round_to(dtype, value), dtype, suffix);
  }

  // Integers are converted first, as MLX does.
  ValueId operand() { return to_.add_cast(node_.operands[0], type_.dtype, "_in"); }

  std::vector<int64_t> last_axis(ValueId x) const { return {to_.type(x).rank() - 1}; }

  // exp(x - max) over the last axis
  ValueId powers(ValueId x, ValueId highest) {
    return add(Op::exp, {add(Op::sub, {x, highest}, "_shifted")}, "_exp");
  }

  ValueId softmax() {
    ValueId x = operand();
    const bool widens = is_half(type_.dtype) && node_.attributes.get_or("precise", false);
    if (widens) x = to_.add_cast(x, Dtype::f32, "_wide");
    const Dtype inside = to_.type(x).dtype;
    const auto reduced = over(last_axis(x), true);
    const ValueId exp = powers(x, add(Op::max, {x}, "_max", reduced));
    const ValueId sum = add(Op::sum, {exp}, "_sum", reduced);
    const ValueId scale = add(Op::div, {constant_of(1, inside, "_one"), sum}, "_scale");
    return to_.add_cast(add(Op::mul, {exp, scale}, "_scaled"), type_.dtype);
  }

  // Halves in f32. A row whose maximum is infinite gives that maximum.
  ValueId logsumexp(ValueId x) {
    x = to_.add_cast(x, is_half(type_.dtype) ? Dtype::f32 : type_.dtype, "_wide");
    const auto reduced = over(last_axis(x), true);
    const ValueId highest = add(Op::max, {x}, "_max", reduced);
    const ValueId sum = add(Op::sum, {powers(x, highest)}, "_sum", reduced);
    const ValueId total = add(Op::add, {add(Op::log, {sum}, "_log"), highest}, "_total");
    const auto inf = constant_of(std::numeric_limits<double>::infinity(), to_.type(x).dtype, "_inf");
    const ValueId is_infinite = add(Op::equal, {add(Op::abs, {highest}, "_abs"), inf}, "_is_inf");
    return to_.add_cast(add(Op::select, {is_infinite, highest, total}, "_lse"), type_.dtype);
  }

  ValueId log_softmax() {
    const ValueId x = operand();
    return to_.add(Op::sub, {x, logsumexp(x)});
  }

  std::vector<int64_t> axes() const { return node_.attributes.get<std::vector<int64_t>>("axes"); }
  bool keepdims() const { return node_.attributes.get_or("keepdims", false); }
  double count() const {
    double n = 1;
    for (auto axis : axes())
      n *= static_cast<double>(to_.shape(node_.operands[0])[axis]);
    return n;
  }

  // Integers are summed as integers, and the sum is converted.
  ValueId total(bool keepdims) {
    const ValueId sum = add(Op::sum, {node_.operands[0]}, "_sum", over(axes(), keepdims));
    return to_.add_cast(sum, type_.dtype, "_total");
  }

  ValueId var() {
    const ValueId mean = add(Op::mul, {total(true), constant(1 / count(), "_inv_n")}, "_mean");
    const ValueId square = add(Op::square, {add(Op::sub, {operand(), mean}, "_diff")}, "_square");
    const ValueId squares = add(Op::sum, {square}, "_squares", over(axes(), keepdims()));
    const auto ddof = node_.attributes.get_or<int64_t>("ddof", 0);
    if (ddof == 0) return add(Op::mul, {squares, constant(1 / count(), "_inv_n")}, "_var");
    const Dtype dtype = type_.dtype;
    const double freedom = round_to(dtype, count()) - round_to(dtype, static_cast<double>(ddof));
    return add(Op::div, {squares, constant(std::max(round_to(dtype, freedom), 0.0), "_n")}, "_var");
  }

  Rewriter& to_;
  const NewNode& node_;
  const TensorType& type_;
};

// A product of sizes, or its inverse: a constant, as shapes are known.
ValueId count_elements(Rewriter& to, const NewNode& node) {
  double count = 1;
  for (auto axis : node.attributes.get<std::vector<int64_t>>("axes"))
    count *= static_cast<double>(to.shape(node.operands[0])[axis]);
  if (node.attributes.get_or("inverted", false)) count = 1 / count;
  return to.add_constant(round_to(node.type.dtype, count), node.type.dtype, "_count");
}

std::optional<ValueId> lower_library_function(Rewriter& to, const NewNode& node) {
  switch (node.op) {
    case Op::rms_norm:
    case Op::layer_norm:
      return lower_norm(to, node);
    case Op::rope:
      return lower_rope(to, node);
    case Op::scaled_dot_product_attention:
      return lower_attention(to, node);
    case Op::cross_entropy:
    case Op::cross_entropy_vjp:
      return lower_cross_entropy(to, node);
    default:
      return std::nullopt;
  }
}

bool is_complex_or_empty(const TensorType& type) {
  return type.dtype == Dtype::c64 || type.elements() == 0;
}

}  // namespace

// Complex ones stay, and those of an empty axis, which has no maximum.
std::optional<ValueId> lower_composites(Rewriter& to, const NewNode& node) {
  if (class_of(node.op) != OpClass::composite || node.operands.empty()) return std::nullopt;
  if (node.op == Op::number_of_elements) return count_elements(to, node);
  if (is_complex_or_empty(to.type(node.operands[0])) || is_complex_or_empty(node.type)) return std::nullopt;
  return is_lowered(node.op) ? Lowering(to, node).run() : lower_library_function(to, node);
}

}  // namespace autoperfect

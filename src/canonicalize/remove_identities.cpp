#include <cmath>
#include <numeric>
#include <optional>

#include "canonicalize/passes.h"

namespace autoperfect {

namespace {

// How many significant bits the integers of a dtype take.
int bits_of(Dtype dtype) {
  if (dtype == Dtype::bool_) return 1;
  return static_cast<int>(size_of(dtype)) * 8 - (is_signed_integer(dtype) ? 1 : 0);
}

int mantissa_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
      return 8;
    case Dtype::f16:
      return 11;
    case Dtype::f32:
      return 24;
    default:
      return 53;
  }
}

bool is_integral(Dtype dtype) {
  return is_integer(dtype) || dtype == Dtype::bool_;
}

// Every value of `from` is one of `to`.
bool is_lossless(Dtype from, Dtype to) {
  if (from == to) return true;
  if (from == Dtype::c64 || to == Dtype::c64 || to == Dtype::bool_) return false;
  if (is_floating(from)) {
    const bool widens = to == Dtype::f64 || (to == Dtype::f32 && is_half(from));
    return widens;
  }
  if (is_floating(to)) return bits_of(from) <= mantissa_of(to);
  const bool keeps_sign = is_signed_integer(to) || !is_signed_integer(from);
  return keeps_sign && bits_of(from) <= bits_of(to);
}

// cast(cast(x, middle), to) is cast(x, to) when nothing was lost on the way and both convert by the same
// rule: an integer that went through floats to another integer would saturate where it now wraps.
bool skips_middle(Dtype from, Dtype middle, Dtype to) {
  const bool detours = is_integral(from) && is_floating(middle) && is_integral(to);
  return is_lossless(from, middle) && !detours;
}

// The number that every element of a constant is.
std::optional<double> constant_value(const Node* node) {
  if (!node || node->op != Op::constant) return std::nullopt;
  const auto* value = node->attributes.find("value");
  if (auto* real = std::get_if<double>(value)) return *real;
  if (auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

// x op c is x, bit for bit: adding 0.0 would turn -0.0 into 0.0, adding -0.0 or taking away 0.0 does not.
bool is_neutral(Op op, Dtype dtype, double c) {
  const bool floats = is_floating(dtype), numbers = floats || is_integer(dtype);
  switch (op) {
    case Op::mul:
      return numbers && c == 1;
    case Op::div:
      return floats && c == 1;
    case Op::floor_divide:
      return is_integer(dtype) && c == 1;
    case Op::add:
      return numbers && c == 0 && (!floats || std::signbit(c));
    case Op::sub:
      return numbers && c == 0 && !std::signbit(c);
    case Op::left_shift:
    case Op::right_shift:
      return c == 0;
    default:
      return false;
  }
}

bool counts_up(const std::vector<int64_t>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// The whole of its operand, in order.
bool is_identity(const Node& node, const TensorType& from, const TensorType& to) {
  switch (node.op) {
    case Op::stop_gradient:
    case Op::copy:
      return true;
    case Op::cast:
    case Op::reshape:
    case Op::broadcast:
      return from == to;
    case Op::transpose:
      return counts_up(node.attributes.get<std::vector<int64_t>>("axes"));
    case Op::slice: {
      for (auto stride : node.attributes.get<std::vector<int64_t>>("strides")) {
        if (stride < 0) return false;
      }
      return from == to;
    }
    default:
      return false;
  }
}

class Simplifier {
 public:
  explicit Simplifier(const Graph& source) : source_(source), to_(source) {}

  Rewrite run() && {
    for (const auto& node : source_.nodes) {
      if (!simplify(node)) to_.keep(node);
    }
    return std::move(to_).finish();
  }

 private:
  bool simplify(const Node& node) {
    if (node.results.size() != 1 || node.operands.empty()) return false;
    const ValueId result = node.results[0], operand = to_.of(node.operands[0]);
    if (is_identity(node, to_.type(operand), source_.type(result)) || is_neutral_here(node)) {
      to_.replace(result, operand);
      return true;
    }
    const Node* inner = to_.producer(operand);
    return inner && inner->op == node.op && merge(node, Node(*inner));
  }

  bool is_neutral_here(const Node& node) const {
    if (node.operands.size() != 2) return false;
    const TensorType& type = to_.type(to_.of(node.operands[0]));
    const auto c = constant_value(to_.producer(to_.of(node.operands[1])));
    return c && type == source_.type(node.results[0]) && is_neutral(node.op, type.dtype, *c);
  }

  // `node` on the result of `inner`, which is the same op, as one on the operand of `inner`.
  bool merge(const Node& node, const Node& inner) {
    const ValueId result = node.results[0];
    const Dtype from = inner.operands.empty() ? Dtype::f32 : to_.type(inner.operands[0]).dtype;
    switch (node.op) {
      case Op::cast:
        if (!skips_middle(from, to_.type(inner.results[0]).dtype, source_.type(result).dtype)) return false;
        break;
      case Op::reshape:
      case Op::broadcast:
        break;
      case Op::transpose: {
        const auto& first = inner.attributes.get<std::vector<int64_t>>("axes");
        std::vector<int64_t> both;
        for (auto axis : node.attributes.get<std::vector<int64_t>>("axes"))
          both.push_back(first[axis]);
        Attributes attributes;
        attributes.set("axes", std::move(both));
        to_.add_as(result, Op::transpose, {inner.operands[0]}, std::move(attributes));
        return true;
      }
      default:
        return false;
    }
    to_.add_as(result, node.op, {inner.operands[0]}, node.attributes);
    return true;
  }

  const Graph& source_;
  Rewriter to_;
};

}  // namespace

Rewrite remove_identities(const Graph& source) {
  return Simplifier(source).run();
}

}  // namespace autoperfect

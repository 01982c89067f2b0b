#include <cmath>
#include <numeric>
#include <optional>

#include "canonicalize/parts.h"
#include "canonicalize/passes.h"
#include "ir/lossless.h"

namespace autoperfect {

namespace {

bool is_integral(Dtype dtype) {
  return is_integer(dtype) || dtype == Dtype::bool_;
}

// cast(cast(x, middle), to) is cast(x, to) when nothing was lost on the way and both convert by the same
// rule: an integer that went through floats to another integer would saturate where it now wraps.
bool skips_middle(Dtype from, Dtype middle, Dtype to) {
  const bool detours = is_integral(from) && is_floating(middle) && is_integral(to);
  return is_lossless(from, middle) && !detours;
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
bool is_identity(const NewNode& node, const TensorType& from) {
  switch (node.op) {
    case Op::stop_gradient:
    case Op::copy:
      return true;
    case Op::cast:
    case Op::reshape:
    case Op::broadcast:
      return from == node.type;
    case Op::transpose:
      return counts_up(node.attributes.get<std::vector<int64_t>>("axes"));
    case Op::slice: {
      for (auto stride : node.attributes.get<std::vector<int64_t>>("strides")) {
        if (stride < 0) return false;
      }
      return from == node.type;
    }
    default:
      return false;
  }
}

bool is_neutral_here(const Rewriter& to, const NewNode& node) {
  if (node.operands.size() != 2) return false;
  const TensorType& type = to.type(node.operands[0]);
  const auto c = constant_number(to, node.operands[1]);
  return c && type == node.type && is_neutral(node.op, type.dtype, *c);
}

}  // namespace

std::optional<ValueId> remove_identities(Rewriter& to, const NewNode& node) {
  if (node.operands.empty()) return std::nullopt;
  const ValueId operand = node.operands[0];
  if (is_identity(node, to.type(operand)) || is_neutral_here(to, node)) return operand;
  const Node* inner = node.op == Op::cast ? to.producer(operand, Op::cast) : nullptr;
  if (!inner) return std::nullopt;
  const ValueId from = inner->operands[0];
  if (!skips_middle(to.type(from).dtype, to.type(operand).dtype, node.type.dtype)) return std::nullopt;
  return to.add_cast(from, node.type.dtype);
}

}  // namespace autoperfect

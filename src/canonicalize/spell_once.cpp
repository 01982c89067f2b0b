#include <algorithm>

#include "canonicalize/passes.h"
#include "canonicalize/structural_hash.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

struct Default {
  const char* name;
  AttributeValue value;
};

const Default defaults[] = {
    {"keepdims", false},
    {"nan_equal", false},
    {"precise", false},
    {"ddof", int64_t{0}},
    {"inclusive", true},
    {"reverse", false},
};

Attributes without_defaults(Attributes attributes) {
  for (const auto& [name, value] : defaults) {
    const auto* found = attributes.find(name);
    if (found && *found == value) attributes.erase(name);
  }
  return attributes;
}

// A stack of rows times a matrix is one matrix of all rows times that matrix, as MLX itself computes it.
std::optional<ValueId> multiply_rows_at_once(Rewriter& to, const NewNode& node) {
  const Shape a = to.shape(node.operands[0]), b = to.shape(node.operands[1]);
  if (a.size() <= 2 || b.size() != 2 || node.type.elements() == 0) return std::nullopt;
  const int64_t rows = node.type.elements() / node.type.shape.back();
  const ValueId flat = to.add_reshape(node.operands[0], {rows, a.back()}, "_flat");
  return to.add_reshape(to.add(Op::matmul, {flat, node.operands[1]}, {}, "_product"), node.type.shape);
}

// A reduction keeps its axes; dropping them is a reshape of its own.
std::optional<ValueId> keep_axes(Rewriter& to, const NewNode& node) {
  if (node.attributes.get_or("keepdims", false)) return std::nullopt;
  Attributes attributes = node.attributes;
  attributes.set("keepdims", true);
  return to.add_reshape(to.add(node.op, node.operands, std::move(attributes)), node.type.shape);
}

}  // namespace

std::optional<ValueId> spell_once(Rewriter& to, const NewNode& node) {
  switch (node.op) {
    case Op::opaque:
      return std::nullopt;
    case Op::full:
      return to.add(Op::broadcast, node.operands, node.attributes);
    case Op::greater:
      return to.add(Op::less, {node.operands[1], node.operands[0]});
    case Op::greater_equal:
      return to.add(Op::less_equal, {node.operands[1], node.operands[0]});
    case Op::matmul:
      return multiply_rows_at_once(to, node);
    case Op::slice: {
      Attributes normal = slice_attributes(
          slice_ranges(node.attributes, to.shape(node.operands[0]), node.type.shape),
          to.shape(node.operands[0]));
      if (normal == node.attributes) return std::nullopt;
      return to.add(Op::slice, node.operands, std::move(normal));
    }
    default:
      break;
  }
  if (class_of(node.op) == OpClass::reduction) return keep_axes(to, node);
  Attributes attributes = without_defaults(node.attributes);
  if (same_bits(attributes, node.attributes)) return std::nullopt;
  return to.add(node.op, node.operands, std::move(attributes));
}

std::optional<ValueId> order_operands(Rewriter& to, const NewNode& node) {
  // logaddexp asks which operand is larger, which complex numbers do not say.
  const bool commutes =
      is_commutative(node.op) || (node.op == Op::logaddexp && node.type.dtype != Dtype::c64);
  if (!commutes || !to.precedes(node.operands[1], node.operands[0])) return std::nullopt;
  return to.add(node.op, {node.operands[1], node.operands[0]}, node.attributes);
}

}  // namespace autoperfect

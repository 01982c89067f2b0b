#include "ir/op.h"

#include <unordered_map>

namespace autoperfect {

namespace {

struct OpRow {
  std::string_view text;
  OpClass op_class;
  int arity;
};

constexpr OpRow rows[] = {
#define OP(id, text, op_class, arity) {text, OpClass::op_class, arity},
#include "ir/ops.def"
#undef OP
};

constexpr const OpRow& row(Op op) {
  return rows[static_cast<size_t>(op)];
}

}  // namespace

std::string_view name(Op op) {
  return row(op).text;
}
OpClass class_of(Op op) {
  return row(op).op_class;
}
int arity(Op op) {
  return row(op).arity;
}

std::optional<Op> parse_op(std::string_view text) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, Op> map;
    for (size_t i = 0; i < std::size(rows); ++i)
      map[rows[i].text] = static_cast<Op>(i);
    return map;
  }();
  auto found = by_name.find(text);
  if (found == by_name.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string_view> all_op_names() {
  std::vector<std::string_view> names;
  for (const auto& one : rows)
    names.push_back(one.text);
  return names;
}

std::string_view name(OpClass op_class) {
  switch (op_class) {
    case OpClass::source:
      return "source";
    case OpClass::elementwise:
      return "elementwise";
    case OpClass::reduction:
      return "reduction";
    case OpClass::gemm:
      return "gemm";
    case OpClass::view:
      return "view";
    case OpClass::indexing:
      return "indexing";
    case OpClass::scan:
      return "scan";
    case OpClass::composite:
      return "composite";
    case OpClass::barrier:
      return "barrier";
  }
  return "unknown";
}

bool is_commutative(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::equal:
    case Op::not_equal:
    case Op::logical_and:
    case Op::logical_or:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
      return true;
    default:
      return false;  // maximum and minimum are not: of 0.0 and -0.0 they return one by position
  }
}

}  // namespace autoperfect

#include "ir/op.h"

#include <algorithm>
#include <unordered_map>

namespace autoperfect {

namespace {

struct OpRow {
  std::string_view text;
  OpClass op_class;
  BarrierReason reason;
  int operands;
  int results;
  std::string_view attributes;
  std::string_view primitives;
};

constexpr OpRow rows[] = {
#define OP(id, text, op_class, operands, results, attributes, primitives) \
  {text, OpClass::op_class, BarrierReason::none, operands, results, attributes, primitives},
#define BARRIER(id, text, reason, operands, results, attributes, primitives) \
  {text, OpClass::barrier, BarrierReason::reason, operands, results, attributes, primitives},
#include "ir/ops.def"
#undef BARRIER
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
  return row(op).operands;
}
int result_count(Op op) {
  return row(op).results;
}
std::string_view attribute_text(Op op) {
  return row(op).attributes;
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

std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (size_t i = 0; i < std::size(rows); ++i)
    ops.push_back(static_cast<Op>(i));
  return ops;
}

std::vector<std::string_view> mlx_primitives(Op op) {
  std::vector<std::string_view> words;
  std::string_view rest = row(op).primitives;
  while (!rest.empty()) {
    auto length = std::min(rest.find(' '), rest.size());
    words.push_back(rest.substr(0, length));
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  return words;
}

std::string_view barrier_reason(Op op) {
  switch (row(op).reason) {
    case BarrierReason::none:
      return "";
    case BarrierReason::io:
      return "reads or writes files";
    case BarrierReason::random:
      return "draws random bits";
    case BarrierReason::sort:
      return "sorts or partitions";
    case BarrierReason::factorization:
      return "factorizes matrices";
    case BarrierReason::fft:
      return "is a Fourier transform";
    case BarrierReason::effects:
      return "orders effects";
    case BarrierReason::multi_output:
      return "has several outputs that only MLX makes";
    case BarrierReason::custom_kernel:
      return "is a kernel of the user";
    case BarrierReason::compiled:
      return "is what mx.compile fused";
    case BarrierReason::distributed:
      return "talks to other processes";
    case BarrierReason::unknown:
      return "is known to MLX only";
  }
  return "";
}

bool is_repeatable(Op op) {
  auto reason = row(op).reason;
  return reason != BarrierReason::io && reason != BarrierReason::distributed &&
         reason != BarrierReason::unknown;
}

bool needs_its_primitive(Op op) {
  return row(op).op_class == OpClass::barrier && row(op).attributes.starts_with("key:");
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

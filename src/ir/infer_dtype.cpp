#include "ir/infer_dtype.h"

#include <fmt/format.h>

namespace autoperfect {

namespace {

// Which operand dtypes an op admits.
enum class Admits : uint8_t { all, numeric, real, inexact, floating, integral, integer, boolean, complex };

Admits admits(Op op) {
  switch (op) {
    case Op::exp:
    case Op::expm1:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::log1p:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::sigmoid:
    case Op::div:
    case Op::logaddexp:
    case Op::logcumsumexp:
    case Op::matmul:
      return Admits::inexact;
    case Op::erf:
    case Op::erfinv:
    case Op::atan2:
      return Admits::floating;
    case Op::neg:
      return Admits::numeric;
    case Op::floor:
    case Op::ceil:
    case Op::remainder:
      return Admits::real;
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
      return Admits::boolean;
    case Op::bitwise_invert:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
      return Admits::integral;
    case Op::left_shift:
    case Op::right_shift:
      return Admits::integer;
    case Op::conjugate:
    case Op::real:
    case Op::imag:
      return Admits::complex;
    default:
      return Admits::all;
  }
}

bool holds(Admits set, Dtype d) {
  switch (set) {
    case Admits::all:
      return true;
    case Admits::numeric:
      return d != Dtype::bool_;
    case Admits::real:
      return d != Dtype::c64;
    case Admits::inexact:
      return is_floating(d) || d == Dtype::c64;
    case Admits::floating:
      return is_floating(d);
    case Admits::integral:
      return is_integer(d) || d == Dtype::bool_;
    case Admits::integer:
      return is_integer(d);
    case Admits::boolean:
      return d == Dtype::bool_;
    case Admits::complex:
      return d == Dtype::c64;
  }
  return false;
}

const char* describe(Admits set) {
  switch (set) {
    case Admits::all:
      return "any dtype";
    case Admits::numeric:
      return "any dtype but bool";
    case Admits::real:
      return "any dtype but c64";
    case Admits::inexact:
      return "f16, bf16, f32, f64 or c64";
    case Admits::floating:
      return "f16, bf16, f32 or f64";
    case Admits::integral:
      return "an integer or bool";
    case Admits::integer:
      return "an integer";
    case Admits::boolean:
      return "bool";
    case Admits::complex:
      return "c64";
  }
  return "";
}

Dtype sum_dtype(Dtype d) {
  if (d == Dtype::bool_) return Dtype::i32;
  if (is_signed_integer(d)) return size_of(d) <= 4 ? Dtype::i32 : Dtype::i64;
  if (is_unsigned_integer(d)) return size_of(d) <= 4 ? Dtype::u32 : Dtype::u64;
  return d;
}

Dtype result_dtype(Op op, Dtype operand) {
  switch (op) {
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
    case Op::any:
    case Op::all:
      return Dtype::bool_;
    case Op::argmax:
    case Op::argmin:
      return Dtype::u32;
    case Op::sum:
    case Op::prod:
      return sum_dtype(operand);
    case Op::cumsum:
      return operand == Dtype::bool_ ? Dtype::i32 : operand;  // no other integers widen
    case Op::real:
    case Op::imag:
      return Dtype::f32;
    default:
      return operand;
  }
}

}  // namespace

Dtype at_least_float(Dtype dtype) {
  return is_integer(dtype) || dtype == Dtype::bool_ ? Dtype::f32 : dtype;
}

Result<Dtype> infer_dtype(Op op, const std::vector<Dtype>& operands) {
  size_t first = op == Op::select ? 1 : 0;
  if (operands.size() <= first) {
    return Diagnostic{"ir", "arity", fmt::format("'{}' needs operands", name(op))};
  }
  if (op == Op::select && operands[0] != Dtype::bool_) {
    return Diagnostic{
        "ir", "dtype-mismatch", fmt::format("the condition of select is {}, not bool", name(operands[0]))};
  }
  for (size_t i = first + 1; i < operands.size(); ++i) {
    if (operands[i] == operands[first]) continue;
    return Diagnostic{
        "ir",
        "dtype-mismatch",
        fmt::format(
            "operands of '{}' have different dtypes, {} and {}",
            name(op),
            name(operands[first]),
            name(operands[i])),
        {},
        "insert a cast: conversions are explicit"};
  }
  auto set = admits(op);
  if (!holds(set, operands[first])) {
    return Diagnostic{
        "ir",
        "dtype-not-allowed",
        fmt::format("'{}' does not take {}", name(op), name(operands[first])),
        {},
        fmt::format("it takes {}", describe(set))};
  }
  return result_dtype(op, operands[first]);
}

}  // namespace autoperfect

#include "generate/schedule/expression.h"

#include <cmath>
#include <cstdio>
#include <map>

namespace autoperfect::schedule {
namespace {

std::string call(const std::string& function, const std::string& a) {
  return "ap::" + function + "(" + a + ")";
}
std::string call(const std::string& function, const std::string& a, const std::string& b) {
  return "ap::" + function + "(" + a + ", " + b + ")";
}

bool is_vf(Dtype d) {
  return d == Dtype::f32 || is_half(d);
}

// Functions that exist for float vectors only; `exact`: the result needs no rounding back to a half type.
struct Function {
  const char* name;
  bool exact;
};
const std::map<Op, Function> float_functions = {
    {Op::exp, {"exp", false}},       {Op::expm1, {"expm1", false}},     {Op::log, {"log", false}},
    {Op::log2, {"log2", false}},     {Op::log10, {"log10", false}},     {Op::log1p, {"log1p", false}},
    {Op::sqrt, {"sqrt", false}},     {Op::rsqrt, {"rsqrt", false}},     {Op::sin, {"sin", false}},
    {Op::cos, {"cos", false}},       {Op::tan, {"tan", false}},         {Op::sinh, {"sinh", false}},
    {Op::cosh, {"cosh", false}},     {Op::tanh, {"tanh", false}},       {Op::asin, {"asin", false}},
    {Op::acos, {"acos", false}},     {Op::atan, {"atan", false}},       {Op::asinh, {"asinh", false}},
    {Op::acosh, {"acosh", false}},   {Op::atanh, {"atanh", false}},     {Op::erf, {"erf", false}},
    {Op::erfinv, {"erfinv", false}}, {Op::sigmoid, {"sigmoid", false}}, {Op::floor, {"floor", true}},
    {Op::ceil, {"ceil", true}},      {Op::round, {"round", true}},
};
const std::map<Op, const char*> comparisons = {
    {Op::equal, "eq"},
    {Op::not_equal, "ne"},
    {Op::less, "lt"},
    {Op::less_equal, "le"},
    {Op::greater, "gt"},
    {Op::greater_equal, "ge"},
};

std::string compare(const KernelValue& value, Dtype dtype, std::string a, std::string b) {
  if (dtype == Dtype::bool_) a = call("from_bool", a), b = call("from_bool", b);
  std::string text = call(comparisons.at(value.op), a, b);
  if (value.op == Op::equal && value.attributes.get_or("nan_equal", false) && is_vf(dtype))
    return call("mask_or", text, call("mask_and", call("is_nan", a), call("is_nan", b)));
  return text;
}

std::optional<std::string> arithmetic(Op op, Dtype dtype, const std::string& a, const std::string& b) {
  bool real = is_vf(dtype);
  switch (op) {
    case Op::add:
      return rounded(dtype, "(" + a + " + " + b + ")");
    case Op::sub:
      return rounded(dtype, "(" + a + " - " + b + ")");
    case Op::mul:
      return rounded(dtype, "(" + a + " * " + b + ")");
    case Op::div:
      return real ? rounded(dtype, "(" + a + " / " + b + ")") : call("int_div", a, b);
    case Op::floor_divide:
      // The quotient is rounded first: of halves that may make it a whole number.
      if (real) return call("floor", rounded(dtype, "(" + a + " / " + b + ")"));
      return call("floor_divide", a, b);
    case Op::remainder:
      return rounded(dtype, call("remainder", a, b));
    case Op::maximum:
      return call("maximum", a, b);
    case Op::minimum:
      return call("minimum", a, b);
    case Op::power:
      return rounded(dtype, call("pow", a, b));
    case Op::logaddexp:
      if (real) return rounded(dtype, call("logaddexp", a, b));
      return std::nullopt;
    case Op::atan2:
      if (real) return rounded(dtype, call("atan2", a, b));
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// x^2 and x^3 by products: one and two roundings, so within an ulp of the rounded result as the contract
// asks; where x * x over- or underflows, so does the cube.
std::optional<std::string> small_power(const KernelValue& value, const std::string& x) {
  if (value.op != Op::power || value.operands[1].kind != KernelOperand::Kind::literal || !is_vf(value.dtype))
    return std::nullopt;
  if (value.operands[1].literal == 2) return rounded(value.dtype, "(" + x + " * " + x + ")");
  if (value.operands[1].literal == 3) return rounded(value.dtype, "(" + x + " * " + x + " * " + x + ")");
  return std::nullopt;
}

// Arithmetic on truths: in integers, and whether the result is not 0.
std::optional<std::string> of_truths(Op op, const std::string& a, const std::string& b) {
  switch (op) {
    case Op::add:
    case Op::maximum:
      return call("mask_or", a, b);
    case Op::mul:
    case Op::minimum:
      return call("mask_and", a, b);
    case Op::sub:
      return "(" + a + " ^ " + b + ")";
    case Op::power:
      return call("mask_or", a, call("mask_not", b));
    default:
      return std::nullopt;
  }
}

std::optional<std::string> bitwise(Op op, const std::string& a, const std::string& b) {
  switch (op) {
    case Op::bitwise_and:
      return "(" + a + " & " + b + ")";
    case Op::bitwise_or:
      return "(" + a + " | " + b + ")";
    case Op::bitwise_xor:
      return "(" + a + " ^ " + b + ")";
    case Op::left_shift:
      return call("shift_left", a, b);
    case Op::right_shift:
      return call("shift_right", a, b);
    default:
      return std::nullopt;
  }
}

// Where MLX rounds inside a function of a half dtype.
std::string half_function(Op op, Dtype dtype, const std::string& x) {
  if (op == Op::rsqrt) return rounded(dtype, "(1.0f / " + rounded(dtype, call("sqrt", x)) + ")");
  return rounded(dtype, call("sigmoid_of", x, rounded(dtype, call("exp", call("abs", x)))));
}

std::optional<std::string> unary(const KernelValue& value, Dtype from, const std::string& x) {
  Dtype dtype = value.dtype;
  switch (value.op) {
    case Op::abs:
      return is_unsigned_integer(from) || from == Dtype::bool_ ? x : call("abs", x);
    case Op::neg:
      return "(-" + x + ")";
    case Op::sign:
      return call("sign", x);
    case Op::square:
      return rounded(dtype, "(" + x + " * " + x + ")");
    case Op::logical_not:
      return call("mask_not", convert(from, Dtype::bool_, x));
    case Op::bitwise_invert:
      return "(~" + x + ")";
    case Op::cast:
      return convert(from, dtype, x);
    case Op::copy:
    case Op::stop_gradient:
      return x;
    default:
      return std::nullopt;
  }
}

std::string float_text(double value) {
  if (std::isnan(value)) return "__builtin_nanf(\"\")";
  if (std::isinf(value)) return value > 0 ? "__builtin_inff()" : "-__builtin_inff()";
  char text[64];
  std::snprintf(text, sizeof text, "%af", static_cast<double>(static_cast<float>(value)));
  return text;
}

std::string integer_text(Dtype dtype, double value) {
  if (value <= -0x1p63) return "(-9223372036854775807ll - 1)";
  std::string digits = std::to_string(static_cast<long long>(value));
  if (dtype == Dtype::u64 && value >= 9.2e18)
    digits = std::to_string(static_cast<unsigned long long>(value)) + "ull";
  return "(" + element_type(dtype) + ")" + digits + (size_of(dtype) == 8 && digits.back() != 'l' ? "ll" : "");
}

}  // namespace

std::string vector_type(Dtype dtype) {
  if (is_vf(dtype)) return "ap::vf";
  if (dtype == Dtype::bool_) return "ap::mask";
  return "ap::v" + std::string(name(dtype));
}

std::string element_type(Dtype dtype) {
  return dtype == Dtype::bool_ ? "ap::bool8" : "ap::" + std::string(name(dtype));
}

std::string literal(Dtype dtype, double value) {
  if (dtype == Dtype::bool_) return value != 0 ? "ap::splat_bool(true)" : "ap::splat_bool(false)";
  if (is_vf(dtype)) return "ap::splat(" + float_text(value) + ")";
  return "ap::splat<" + vector_type(dtype) + ">(" + integer_text(dtype, value) + ")";
}

std::string rounded(Dtype dtype, const std::string& x) {
  if (dtype == Dtype::bf16) return call("round_bf16", x);
  if (dtype == Dtype::f16) return call("round_f16", x);
  return x;
}

std::string convert(Dtype from, Dtype to, const std::string& x) {
  if (from == to) return x;
  std::string number = from == Dtype::bool_ ? call("from_bool", x) : x;
  if (to == Dtype::bool_) return call("to_bool", x);
  if (is_vf(to)) {
    std::string wide = is_vf(from) ? number : call("to_f32", number);
    bool exact = from == Dtype::bool_ || (is_half(from) && to == Dtype::f32);
    return exact ? wide : rounded(to, wide);
  }
  return call("to_" + std::string(name(to)), number);
}

std::optional<std::string> expression(
    const KernelValue& value, const std::vector<Dtype>& dtypes, const std::vector<std::string>& x) {
  if (x.size() == 1) {
    if (auto it = float_functions.find(value.op); it != float_functions.end()) {
      if (!is_vf(dtypes[0])) return it->second.exact ? std::optional(x[0]) : std::nullopt;
      if (is_half(value.dtype) && (value.op == Op::rsqrt || value.op == Op::sigmoid))
        return half_function(value.op, value.dtype, x[0]);
      std::string text = call(it->second.name, x[0]);
      return it->second.exact ? text : rounded(value.dtype, text);
    }
    return unary(value, dtypes[0], x[0]);
  }
  if (value.op == Op::select) return "ap::select(" + x[0] + ", " + x[1] + ", " + x[2] + ")";
  if (comparisons.count(value.op)) return compare(value, dtypes[0], x[0], x[1]);
  if (value.op == Op::logical_and || value.op == Op::logical_or)
    return call(
        value.op == Op::logical_and ? "mask_and" : "mask_or",
        convert(dtypes[0], Dtype::bool_, x[0]),
        convert(dtypes[1], Dtype::bool_, x[1]));
  if (auto text = bitwise(value.op, x[0], x[1])) return text;
  if (dtypes[0] == Dtype::bool_) return of_truths(value.op, x[0], x[1]);
  if (auto text = small_power(value, x[0])) return text;
  return arithmetic(value.op, value.dtype, x[0], x[1]);
}

std::optional<ReductionText> reduction(Op op, Dtype operand, Dtype result) {
  bool real = is_vf(operand);
  double lowest =
      is_unsigned_integer(operand) ? 0 : -std::ldexp(1.0, 8 * static_cast<int>(size_of(operand)) - 1);
  std::string low = real ? literal(operand, -INFINITY) : literal(operand, lowest);
  switch (op) {
    case Op::matmul:
      if (!real || !is_vf(result)) return std::nullopt;
      [[fallthrough]];
    case Op::sum:
      return ReductionText{result, literal(result, 0), "({a} + {b})", "ap::hsum"};
    case Op::prod:
      return ReductionText{result, literal(result, 1), "({a} * {b})", "ap::hprod"};
    case Op::any:
      return ReductionText{Dtype::bool_, "ap::splat_bool(false)", "ap::mask_or({a}, {b})", "ap::hany"};
    case Op::all:
      return ReductionText{Dtype::bool_, "ap::splat_bool(true)", "ap::mask_and({a}, {b})", "ap::hall"};
    case Op::max:
    case Op::min:
      if (operand == Dtype::bool_) return reduction(op == Op::max ? Op::any : Op::all, operand, result);
      // The largest integer is the complement of the smallest.
      return op == Op::max ? ReductionText{operand, low, "ap::maximum({b}, {a})", "ap::hmax"}
                           : ReductionText{
                                 operand,
                                 real ? literal(operand, INFINITY) : "(~" + low + ")",
                                 "ap::minimum({b}, {a})",
                                 "ap::hmin"};
    default:
      return std::nullopt;
  }
}

std::string fill(const std::string& pattern, const std::string& a, const std::string& b) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    bool hole = pattern.compare(i, 3, "{a}") == 0 || pattern.compare(i, 3, "{b}") == 0;
    text += hole ? (pattern[i + 1] == 'a' ? a : b) : pattern.substr(i, 1);
    if (hole) i += 2;
  }
  return text;
}

}  // namespace autoperfect::schedule

// Elementwise operations, reductions, scans and sources.
#include <unordered_map>

#include "capture/applying.h"

namespace autoperfect::applying {

namespace {

using Unary = array (*)(const array&, mx::StreamOrDevice);
const std::unordered_map<Op, Unary> unary = {
    {Op::abs, mx::abs},
    {Op::neg, mx::negative},
    {Op::sign, mx::sign},
    {Op::exp, mx::exp},
    {Op::expm1, mx::expm1},
    {Op::log, mx::log},
    {Op::log2, mx::log2},
    {Op::log10, mx::log10},
    {Op::log1p, mx::log1p},
    {Op::sqrt, mx::sqrt},
    {Op::rsqrt, mx::rsqrt},
    {Op::square, mx::square},
    {Op::sin, mx::sin},
    {Op::cos, mx::cos},
    {Op::tan, mx::tan},
    {Op::sinh, mx::sinh},
    {Op::cosh, mx::cosh},
    {Op::tanh, mx::tanh},
    {Op::asin, mx::arcsin},
    {Op::acos, mx::arccos},
    {Op::atan, mx::arctan},
    {Op::asinh, mx::arcsinh},
    {Op::acosh, mx::arccosh},
    {Op::atanh, mx::arctanh},
    {Op::erf, mx::erf},
    {Op::erfinv, mx::erfinv},
    {Op::sigmoid, mx::sigmoid},
    {Op::floor, mx::floor},
    {Op::ceil, mx::ceil},
    {Op::logical_not, mx::logical_not},
    {Op::bitwise_invert, mx::bitwise_invert},
    {Op::conjugate, mx::conjugate},
    {Op::real, mx::real},
    {Op::imag, mx::imag},
    {Op::stop_gradient, mx::stop_gradient},
    {Op::round, [](const array& a, mx::StreamOrDevice s) { return mx::round(a, 0, s); }},
    {Op::copy, [](const array& a, mx::StreamOrDevice s) { return mx::copy(a, s); }},
};

using Binary = array (*)(const array&, const array&, mx::StreamOrDevice);
const std::unordered_map<Op, Binary> binary = {
    {Op::add, mx::add},
    {Op::sub, mx::subtract},
    {Op::mul, mx::multiply},
    {Op::div, mx::divide},
    {Op::floor_divide, mx::floor_divide},
    {Op::remainder, mx::remainder},
    {Op::power, mx::power},
    {Op::maximum, mx::maximum},
    {Op::minimum, mx::minimum},
    {Op::logaddexp, mx::logaddexp},
    {Op::atan2, mx::arctan2},
    {Op::not_equal, mx::not_equal},
    {Op::less, mx::less},
    {Op::less_equal, mx::less_equal},
    {Op::greater, mx::greater},
    {Op::greater_equal, mx::greater_equal},
    {Op::logical_and, mx::logical_and},
    {Op::logical_or, mx::logical_or},
    {Op::bitwise_and, mx::bitwise_and},
    {Op::bitwise_or, mx::bitwise_or},
    {Op::bitwise_xor, mx::bitwise_xor},
    {Op::left_shift, mx::left_shift},
    {Op::right_shift, mx::right_shift},
};

// MLX has no function for one NaN-aware comparison; this is what it means.
array nan_equal(const array& a, const array& b) {
  return mx::logical_or(mx::equal(a, b), mx::logical_and(mx::isnan(a), mx::isnan(b)));
}

// Half a step before the end: exactly `size` elements, whatever the rounding of start + size * step.
array arange(const Call& call) {
  auto start = call.node.attributes.get<double>("start"), step = call.node.attributes.get<double>("step");
  auto size = call.type().shape[0];
  if (size == 0) return mx::zeros({0}, call.dtype());
  return mx::arange(start, start + step * (static_cast<double>(size) - 0.5), step, call.dtype());
}

}  // namespace

Arrays source(const Call& call) {
  switch (call.node.op) {
    case Op::full:
      return {mx::full(call.result_shape(), call.in[0])};
    case Op::arange:
      return {arange(call)};
    default:
      return {constant(call.node, call.type())};
  }
}

Arrays elementwise(const Call& call) {
  const auto& in = call.in;
  if (auto found = unary.find(call.node.op); found != unary.end()) return {found->second(in[0], {})};
  if (auto found = binary.find(call.node.op); found != binary.end()) return {found->second(in[0], in[1], {})};
  if (call.node.op == Op::cast) return {mx::astype(in[0], call.dtype())};
  if (call.node.op == Op::select) return {mx::where(in[0], in[1], in[2])};
  return {call.flag("nan_equal") ? nan_equal(in[0], in[1]) : mx::equal(in[0], in[1])};
}

Arrays reduction(const Call& call) {
  const auto& a = call.in[0];
  bool keepdims = call.flag("keepdims");
  if (call.node.op == Op::argmax) return {mx::argmax(a, call.integer("axis"), keepdims)};
  if (call.node.op == Op::argmin) return {mx::argmin(a, call.integer("axis"), keepdims)};
  auto axes = call.integers("axes");
  switch (call.node.op) {
    case Op::sum:
      return {mx::sum(a, axes, keepdims)};
    case Op::prod:
      return {mx::prod(a, axes, keepdims)};
    case Op::max:
      return {mx::max(a, axes, keepdims)};
    case Op::min:
      return {mx::min(a, axes, keepdims)};
    case Op::any:
      return {mx::any(a, axes, keepdims)};
    default:
      return {mx::all(a, axes, keepdims)};
  }
}

Arrays scan(const Call& call) {
  const auto& a = call.in[0];
  int axis = call.integer("axis");
  bool reverse = call.flag("reverse"), inclusive = call.flag("inclusive", true);
  switch (call.node.op) {
    case Op::cumsum:
      return {mx::cumsum(a, axis, reverse, inclusive)};
    case Op::cumprod:
      return {mx::cumprod(a, axis, reverse, inclusive)};
    case Op::cummax:
      return {mx::cummax(a, axis, reverse, inclusive)};
    case Op::cummin:
      return {mx::cummin(a, axis, reverse, inclusive)};
    default:
      return {mx::logcumsumexp(a, axis, reverse, inclusive)};
  }
}

}  // namespace autoperfect::applying

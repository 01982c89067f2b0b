// Ops -> public MLX operations: how a program runs when only its graph is known.
#include <stdexcept>

#include "capture/capture.h"
#include "mlx/ops.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;
using mx::array;

std::vector<int> narrow(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}
mx::Shape to_shape(const Shape& shape) {
  return mx::Shape(shape.begin(), shape.end());
}

using Unary = array (*)(const array&, mx::StreamOrDevice);
Unary unary(Op op) {
  switch (op) {
    case Op::abs:
      return mx::abs;
    case Op::neg:
      return mx::negative;
    case Op::sign:
      return mx::sign;
    case Op::exp:
      return mx::exp;
    case Op::expm1:
      return mx::expm1;
    case Op::log:
      return mx::log;
    case Op::log2:
      return mx::log2;
    case Op::log10:
      return mx::log10;
    case Op::log1p:
      return mx::log1p;
    case Op::sqrt:
      return mx::sqrt;
    case Op::rsqrt:
      return mx::rsqrt;
    case Op::square:
      return mx::square;
    case Op::sin:
      return mx::sin;
    case Op::cos:
      return mx::cos;
    case Op::tan:
      return mx::tan;
    case Op::sinh:
      return mx::sinh;
    case Op::cosh:
      return mx::cosh;
    case Op::tanh:
      return mx::tanh;
    case Op::asin:
      return mx::arcsin;
    case Op::acos:
      return mx::arccos;
    case Op::atan:
      return mx::arctan;
    case Op::asinh:
      return mx::arcsinh;
    case Op::acosh:
      return mx::arccosh;
    case Op::atanh:
      return mx::arctanh;
    case Op::erf:
      return mx::erf;
    case Op::erfinv:
      return mx::erfinv;
    case Op::sigmoid:
      return mx::sigmoid;
    case Op::floor:
      return mx::floor;
    case Op::ceil:
      return mx::ceil;
    case Op::logical_not:
      return mx::logical_not;
    case Op::bitwise_invert:
      return mx::bitwise_invert;
    case Op::conjugate:
      return mx::conjugate;
    case Op::real:
      return mx::real;
    case Op::imag:
      return mx::imag;
    case Op::stop_gradient:
      return mx::stop_gradient;
    case Op::round:
      return [](const array& a, mx::StreamOrDevice s) { return mx::round(a, 0, s); };
    case Op::copy:
      return [](const array& a, mx::StreamOrDevice s) { return mx::copy(a, s); };
    default:
      return nullptr;
  }
}

using Binary = array (*)(const array&, const array&, mx::StreamOrDevice);
Binary binary(Op op) {
  switch (op) {
    case Op::add:
      return mx::add;
    case Op::sub:
      return mx::subtract;
    case Op::mul:
      return mx::multiply;
    case Op::div:
      return mx::divide;
    case Op::floor_divide:
      return mx::floor_divide;
    case Op::remainder:
      return mx::remainder;
    case Op::power:
      return mx::power;
    case Op::maximum:
      return mx::maximum;
    case Op::minimum:
      return mx::minimum;
    case Op::logaddexp:
      return mx::logaddexp;
    case Op::atan2:
      return mx::arctan2;
    case Op::not_equal:
      return mx::not_equal;
    case Op::less:
      return mx::less;
    case Op::less_equal:
      return mx::less_equal;
    case Op::greater:
      return mx::greater;
    case Op::greater_equal:
      return mx::greater_equal;
    case Op::logical_and:
      return mx::logical_and;
    case Op::logical_or:
      return mx::logical_or;
    case Op::bitwise_and:
      return mx::bitwise_and;
    case Op::bitwise_or:
      return mx::bitwise_or;
    case Op::bitwise_xor:
      return mx::bitwise_xor;
    case Op::left_shift:
      return mx::left_shift;
    case Op::right_shift:
      return mx::right_shift;
    case Op::matmul:
      return mx::matmul;
    default:
      return nullptr;
  }
}

array reduce(const Node& node, const array& a) {
  bool keepdims = node.attributes.get_or("keepdims", false);
  if (node.op == Op::argmax || node.op == Op::argmin) {
    auto axis = static_cast<int>(node.attributes.get<int64_t>("axis"));
    return node.op == Op::argmax ? mx::argmax(a, axis, keepdims) : mx::argmin(a, axis, keepdims);
  }
  auto axes = narrow(node.attributes.get<std::vector<int64_t>>("axes"));
  auto ddof = static_cast<int>(node.attributes.get_or("ddof", int64_t{0}));
  switch (node.op) {
    case Op::sum:
      return mx::sum(a, axes, keepdims);
    case Op::prod:
      return mx::prod(a, axes, keepdims);
    case Op::max:
      return mx::max(a, axes, keepdims);
    case Op::min:
      return mx::min(a, axes, keepdims);
    case Op::any:
      return mx::any(a, axes, keepdims);
    case Op::all:
      return mx::all(a, axes, keepdims);
    case Op::mean:
      return mx::mean(a, axes, keepdims);
    case Op::var:
      return mx::var(a, axes, keepdims, ddof);
    case Op::std:
      return mx::std(a, axes, keepdims, ddof);
    default:
      throw InternalError("[capture] not a reduction");
  }
}

// MLX has no function for one NaN-aware comparison; this is what it means.
array nan_equal(const array& a, const array& b) {
  return mx::logical_or(mx::equal(a, b), mx::logical_and(mx::isnan(a), mx::isnan(b)));
}

array slice(const Node& node, const array& a) {
  auto list = [&](const char* name) { return to_shape(node.attributes.get<std::vector<int64_t>>(name)); };
  return mx::slice(a, list("start"), list("stop"), list("strides"));
}

// Available at once: a constant is data, not a computation.
template <class T>
array filled(const std::vector<T>& values, const TensorType& type) {
  auto shape = to_shape(type.shape);
  if (type.dtype == Dtype::c64) {
    std::vector<mx::complex64_t> pairs;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      pairs.emplace_back(static_cast<float>(values[i]), static_cast<float>(values[i + 1]));
    }
    pairs.resize(type.elements(), pairs.empty() ? mx::complex64_t{} : pairs.back());
    return array(pairs.begin(), shape, mx::complex64);
  }
  auto all = values;
  all.resize(type.elements(), values.empty() ? T{} : values.back());  // one number stands for all
  return array(all.begin(), shape, to_mlx(type.dtype));
}

array constant(const Node& node, const TensorType& type) {
  const auto& value = *node.attributes.find("value");
  if (auto* flag = std::get_if<bool>(&value)) return filled(std::vector<int64_t>{*flag}, type);
  if (auto* integer = std::get_if<int64_t>(&value)) return filled(std::vector<int64_t>{*integer}, type);
  if (auto* number = std::get_if<double>(&value)) return filled(std::vector<double>{*number}, type);
  if (auto* integers = std::get_if<std::vector<int64_t>>(&value)) return filled(*integers, type);
  if (auto* numbers = std::get_if<std::vector<double>>(&value)) return filled(*numbers, type);
  throw InternalError("[capture] a constant without a number");
}

// Half a step before the end: exactly `size` elements, whatever the rounding of start + size * step.
array arange(const Node& node, const TensorType& type) {
  auto start = node.attributes.get<double>("start"), step = node.attributes.get<double>("step");
  auto size = type.shape[0];
  if (size == 0) return mx::zeros({0}, to_mlx(type.dtype));
  return mx::arange(start, start + step * (static_cast<double>(size) - 0.5), step, to_mlx(type.dtype));
}

array composite(const Node& node, const array& a) {
  std::vector<int> last{-1};
  switch (node.op) {
    case Op::softmax:
      return mx::softmax(a, last, node.attributes.get_or("precise", false));
    case Op::logsumexp:
      return mx::logsumexp(a, last, true);
    case Op::log_softmax:
      return mx::subtract(a, mx::logsumexp(a, last, true));
    default:
      return reduce(node, a);
  }
}

array other(const Node& node, const TensorType& type, const std::vector<array>& in) {
  auto axis = [&] { return static_cast<int>(node.attributes.get<int64_t>("axis")); };
  switch (node.op) {
    case Op::constant:
      return constant(node, type);
    case Op::full:
      return mx::full(to_shape(type.shape), in[0]);
    case Op::arange:
      return arange(node, type);
    case Op::cast:
      return mx::astype(in[0], to_mlx(type.dtype));
    case Op::select:
      return mx::where(in[0], in[1], in[2]);
    case Op::equal:
      return node.attributes.get_or("nan_equal", false) ? nan_equal(in[0], in[1]) : mx::equal(in[0], in[1]);
    case Op::broadcast:
      return mx::broadcast_to(in[0], to_shape(type.shape));
    case Op::reshape:
      return mx::reshape(in[0], to_shape(type.shape));
    case Op::transpose:
      return mx::transpose(in[0], narrow(node.attributes.get<std::vector<int64_t>>("axes")));
    case Op::slice:
      return slice(node, in[0]);
    case Op::concatenate:
      return mx::concatenate(in, axis());
    case Op::gather_axis:
      return mx::take_along_axis(in[0], in[1], axis());
    default:
      throw std::invalid_argument(
          "[interpret] '" + std::string(name(node.op)) + "' runs by its primitive only: it " +
          std::string(barrier_reason(node.op)));
  }
}

}  // namespace

std::vector<array> apply(const Graph& graph, NodeId id, const std::vector<array>& inputs) {
  const auto& node = graph.nodes[id];
  if (auto op = unary(node.op)) return {op(inputs[0], {})};
  if (auto op = binary(node.op)) return {op(inputs[0], inputs[1], {})};
  auto op_class = class_of(node.op);
  if (op_class == OpClass::reduction) return {reduce(node, inputs[0])};
  if (op_class == OpClass::composite) return {composite(node, inputs[0])};
  return {other(node, graph.type(node.results[0]), inputs)};
}

}  // namespace autoperfect

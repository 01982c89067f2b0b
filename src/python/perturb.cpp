#include "python/perturb.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "capture/capture.h"
#include "mlx/ops.h"
#include "mlx/random.h"

namespace autoperfect::python {

namespace {

namespace mx = mlx::core;

// Units in the last place that an elementary function may be off; MLX's own are a few.
constexpr double function_ulp = 4;

// Functions that MLX computes to an absolute error rather than a relative one; others lose subnormal results,
// or are a step between subnormals of f16 off.
double absolute_error(Op op, mx::Dtype dtype) {
  if (op == Op::erf || op == Op::erfinv) return 5e-7;
  return dtype == mx::float16 ? 0x1p-24 : 0x1p-126;
}

// exp(x) by way of x * log2(e): half a unit in the last place of x is |x| units in that of the result. Sines
// reduce their argument in the same manner.
bool grows_with_argument(Op op) {
  switch (op) {
    case Op::exp:
    case Op::expm1:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::sigmoid:
    case Op::sin:
    case Op::cos:
    case Op::tan:
      return true;
    default:
      return false;
  }
}

// Correctly rounded everywhere, or no arithmetic at all.
bool is_exact_elementwise(Op op) {
  switch (op) {
    case Op::abs:
    case Op::neg:
    case Op::sign:
    case Op::sqrt:
    case Op::square:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::cast:
    case Op::stop_gradient:
    case Op::copy:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::floor_divide:
    case Op::remainder:
    case Op::maximum:
    case Op::minimum:
    case Op::select:
      return true;
    default:
      return false;
  }
}

bool is_inexact_type(Dtype dtype) {
  return is_floating(dtype) || dtype == Dtype::c64;
}

bool adds_rounding(const Graph& graph, const Node& node) {
  if (node.results.size() != 1 || !is_inexact_type(graph.type(node.results[0]).dtype)) return false;
  switch (class_of(node.op)) {
    case OpClass::elementwise:
      return !is_exact_elementwise(node.op) || graph.type(node.results[0]).dtype == Dtype::c64;
    case OpClass::reduction:
      return node.op != Op::max && node.op != Op::min;
    case OpClass::scan:
      return node.op != Op::cummax && node.op != Op::cummin;
    case OpClass::gemm:
    case OpClass::composite:
      return true;
    default:
      return false;
  }
}

// Of +0 and -0 the order decides which an extreme is.
bool leaves_zero_sign_open(const Graph& graph, const Node& node) {
  if (node.op != Op::max && node.op != Op::min && node.op != Op::cummax && node.op != Op::cummin)
    return false;
  return is_inexact_type(graph.type(node.results[0]).dtype);
}

// Terms that one element of the result is accumulated from.
double terms_of(const Graph& graph, const Node& node) {
  const auto& operand = graph.type(node.operands.at(0));
  const auto& result = graph.type(node.results[0]);
  if (class_of(node.op) == OpClass::reduction)
    return static_cast<double>(operand.elements()) /
           static_cast<double>(std::max<int64_t>(1, result.elements()));
  return operand.shape.empty()
             ? 1
             : static_cast<double>(*std::max_element(operand.shape.begin(), operand.shape.end()));
}

// Units that an accumulation may be off: the order is open, and errors of equal terms all go one way. Of n
// added one by one, half a unit of each partial sum is n / 3 units of the last.
double accumulation_ulp(double terms) {
  return function_ulp + std::max(std::sqrt(terms), std::min(terms, 4096.0) / 3);
}

double unit_of(mx::Dtype dtype) {
  if (dtype == mx::bfloat16) return 0x1p-8;
  if (dtype == mx::float16) return 0x1p-11;
  return dtype == mx::float64 ? 0x1p-53 : 0x1p-24;
}

// In f32 for halves, as MLX accumulates them. finite_only: 0 for others.
mx::array magnitude_of(const mx::array& operand, bool finite_only) {
  auto magnitude = mx::abs(operand);
  if (is_half(from_mlx(operand.dtype()))) magnitude = mx::astype(magnitude, mx::float32);
  if (finite_only) magnitude = mx::where(mx::isfinite(magnitude), magnitude, mx::zeros_like(magnitude));
  return magnitude;
}

// Sums of the magnitudes of all terms, of those alone that are finite where `finite_only`.
mx::array sum_magnitudes(const Graph& graph, NodeId id, const Arrays& operands, bool finite_only) {
  Arrays magnitudes;
  for (const auto& operand : operands)
    magnitudes.push_back(magnitude_of(operand, finite_only));
  return apply(graph, id, magnitudes)[0];
}

bool is_linear(const Node& node) {
  return node.op == Op::sum || node.op == Op::cumsum || class_of(node.op) == OpClass::gemm;
}

// Values made by a node that `starts` it, or from such values.
std::vector<bool> reached_from(const Graph& graph, bool (*starts)(const Graph&, const Node&)) {
  std::vector<bool> found(graph.values.size());
  for (const auto& node : graph.nodes) {
    bool depends = starts(graph, node);
    for (auto operand : node.operands)
      depends = depends || found[operand];
    for (auto result : node.results)
      found[result] = depends;
  }
  return found;
}

}  // namespace

std::vector<bool> rounding_dependent(const Graph& graph) {
  return reached_from(graph, adds_rounding);
}

std::vector<bool> zero_sign_dependent(const Graph& graph) {
  return reached_from(graph, [](const Graph& whole, const Node& node) {
    return adds_rounding(whole, node) || leaves_zero_sign_open(whole, node);
  });
}

Perturbation::Perturbation(uint64_t seed) : key_(mx::random::key(seed)), one_way_(seed % 2 == 1) {}

mx::array Perturbation::noise(const mx::array& like) {
  auto keys = mx::random::split(key_);
  key_ = keys.first;
  const mx::Shape drawn = one_way_ ? mx::Shape{} : like.shape();
  auto uniform = mx::broadcast_to(
      mx::random::uniform(mx::array(-1.0f), mx::array(1.0f), drawn, mx::float32, keys.second), like.shape());
  return mx::astype(uniform, like.dtype() == mx::float64 ? mx::float64 : mx::float32);
}

mx::array Perturbation::move(const Graph& graph, NodeId id, const Arrays& operands, const mx::array& result) {
  const Node& node = graph.nodes[id];
  if (result.size() == 0) return result;
  if (leaves_zero_sign_open(graph, node)) {
    auto turned = mx::logical_and(mx::equal(result, mx::zeros_like(result)), noise(result) > mx::array(0.0f));
    return mx::where(turned, mx::negative(result), result);
  }
  if (!adds_rounding(graph, node)) return result;
  bool accumulates = class_of(node.op) != OpClass::elementwise;
  double ulp = accumulates ? accumulation_ulp(terms_of(graph, node)) : function_ulp;
  auto dtype = result.dtype();
  auto wide = is_half(from_mlx(dtype)) ? mx::astype(result, mx::float32) : result;
  auto scale = mx::abs(wide);
  auto open = mx::array(false);
  if (is_linear(node)) {
    scale = mx::astype(sum_magnitudes(graph, id, operands, false), scale.dtype());
    // Finite terms that leave the range in one order need not in another.
    open = mx::logical_not(mx::isfinite(sum_magnitudes(graph, id, operands, true)));
    // A factor of the product may come before or after it.
    if (node.op == Op::addmm)
      open = mx::logical_or(
          open,
          mx::logical_not(
              mx::isfinite(mx::matmul(magnitude_of(operands[0], true), magnitude_of(operands[1], true)))));
  }
  if (node.op == Op::logaddexp)
    scale = mx::maximum(scale, mx::maximum(mx::abs(operands[0]), mx::abs(operands[1])));
  if (node.op == Op::logsumexp || node.op == Op::logcumsumexp)
    scale = mx::maximum(scale, mx::array(1.0f, scale.dtype()));
  auto error = scale * mx::array(ulp * unit_of(dtype), scale.dtype());
  if (grows_with_argument(node.op))  // after the unit: a result near the largest number has an error, too
    error = error * (mx::array(1.0f, scale.dtype()) + mx::abs(mx::astype(operands[0], scale.dtype())));
  error = error + mx::array(absolute_error(node.op, dtype), scale.dtype());
  auto moved = wide + noise(scale) * error;
  // Infinities, NaN and what has no error stay as they are.
  auto keeps = mx::logical_or(mx::logical_not(mx::isfinite(error)), mx::logical_not(mx::isfinite(scale)));
  auto anything = mx::where(
      noise(scale) > mx::array(0.0f), mx::array(std::numeric_limits<float>::quiet_NaN()), mx::array(0.0f));
  return mx::where(open, mx::astype(anything, dtype), mx::where(keeps, result, mx::astype(moved, dtype)));
}

}  // namespace autoperfect::python

// The reference executor in `exact` mode against MLX eager on the CPU: the same bits for arithmetic, a few
// units in the last place for elementary functions, whose own approximations MLX has.
#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "pipeline/region_runner.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;
using Eager = std::function<mx::array(const Arrays&)>;

Tensor tensor_of(mx::array array, const TensorType& type) {
  array = mx::contiguous(array);
  mx::eval(array);
  Tensor tensor = Tensor::zeros(type);
  EXPECT_EQ(array.dtype(), to_mlx(type.dtype));
  EXPECT_EQ(array.nbytes(), tensor.bytes.size());
  if (array.nbytes() == tensor.bytes.size())
    std::memcpy(tensor.bytes.data(), array.data<char>(), array.nbytes());
  return tensor;
}

// How far two values may be apart: in units in the last place of the dtype, or absolutely.
struct Tolerance {
  double ulp = 0, abs = 0;
};
constexpr Tolerance same_bits{0, 0}, function{8, 2e-7};

bool is_close(Dtype dtype, double ours, double theirs, const Tolerance& tolerance) {
  if (std::isnan(ours) || std::isnan(theirs)) return std::isnan(ours) && std::isnan(theirs);
  if (ours == theirs) return std::signbit(ours) == std::signbit(theirs) || tolerance.ulp > 0;
  if (std::isinf(ours) || std::isinf(theirs)) return false;
  const int mantissa = dtype == Dtype::bf16 ? 7 : dtype == Dtype::f16 ? 10 : 23;
  const double unit = std::ldexp(1.0, std::ilogb(std::max(std::fabs(ours), std::fabs(theirs))) - mantissa);
  const double units = is_half(dtype) && tolerance.ulp > 0 ? 1 : tolerance.ulp;
  return std::fabs(ours - theirs) <= std::max(units * unit, tolerance.abs);
}

class Comparison {
 public:
  explicit Comparison(unsigned seed) : random_(seed) { mx::set_default_device(mx::Device::cpu); }

  // Small numbers; one in four special or of any bits when `wild`.
  Tensor tensor(const TensorType& type, bool wild) {
    const double special[] = {0.0, -0.0, 1, INFINITY, -INFINITY, NAN, 2.5, 65504};
    Tensor tensor = Tensor::zeros(type);
    for (int64_t i = 0; i < type.elements(); ++i) {
      const bool is_special = wild && random_() % 4 == 0;
      if (is_floating(type.dtype)) {
        tensor.set(i, is_special ? special[random_() % 8] : std::normal_distribution<double>(0, 3)(random_));
      } else {
        tensor.set_integer(
            i, is_special ? static_cast<int64_t>(random_()) : static_cast<int64_t>(random_() % 41) - 20);
      }
    }
    return tensor;
  }

  void expect(
      Op op,
      std::vector<Tensor> inputs,
      const Attributes& attributes,
      const Eager& eager,
      Tolerance tolerance) {
    Graph graph;
    std::vector<ValueId> operands;
    std::vector<TensorType> types;
    Arrays arrays;
    for (const auto& input : inputs) {
      operands.push_back(graph.add_input("x", input.type));
      types.push_back(input.type);
      arrays.push_back(to_array(input));
    }
    if (!infer_types(op, types, attributes)) return;  // MLX converts such operands first
    graph.outputs = {graph.add(op, operands, attributes)};
    const Tensor ours = run_reference(graph, inputs, Precision::exact).value()[0];
    const Tensor theirs = tensor_of(eager(arrays), ours.type);
    for (int64_t i = 0; i < ours.type.elements(); ++i) {
      const bool is_equal = is_floating(ours.type.dtype)
                                ? is_close(ours.type.dtype, ours.at(i), theirs.at(i), tolerance)
                                : ours.integer_at(i) == theirs.integer_at(i);
      if (is_equal) continue;
      ADD_FAILURE() << name(op) << " of " << (types.empty() ? "" : name(types.back().dtype)) << " at " << i
                    << ": ours " << ours.at(i) << ", MLX " << theirs.at(i);
      return;
    }
  }

 private:
  std::mt19937_64 random_;
};

constexpr Dtype all_dtypes[] = {
    Dtype::bool_,
    Dtype::u8,
    Dtype::u16,
    Dtype::u32,
    Dtype::u64,
    Dtype::i8,
    Dtype::i16,
    Dtype::i32,
    Dtype::i64,
    Dtype::f16,
    Dtype::bf16,
    Dtype::f32};

struct Unary {
  Op op;
  mx::array (*eager)(const mx::array&, mx::StreamOrDevice);
  Tolerance tolerance;
};
const Unary unary_ops[] = {
    {Op::abs, mx::abs, same_bits},
    {Op::neg, mx::negative, same_bits},
    {Op::sign, mx::sign, same_bits},
    {Op::exp, mx::exp, function},
    {Op::expm1, mx::expm1, function},
    {Op::log, mx::log, function},
    {Op::log2, mx::log2, function},
    {Op::log10, mx::log10, function},
    {Op::log1p, mx::log1p, function},
    {Op::sqrt, mx::sqrt, same_bits},
    {Op::rsqrt, mx::rsqrt, same_bits},
    {Op::square, mx::square, same_bits},
    {Op::sin, mx::sin, function},
    {Op::cos, mx::cos, function},
    {Op::tan, mx::tan, function},
    {Op::sinh, mx::sinh, function},
    {Op::cosh, mx::cosh, function},
    {Op::tanh, mx::tanh, function},
    {Op::asin, mx::arcsin, function},
    {Op::acos, mx::arccos, function},
    {Op::atan, mx::arctan, function},
    {Op::asinh, mx::arcsinh, function},
    {Op::acosh, mx::arccosh, function},
    {Op::atanh, mx::arctanh, function},
    {Op::erf, mx::erf, {8, 5e-7}},
    {Op::erfinv, mx::erfinv, function},
    {Op::sigmoid, mx::sigmoid, function},
    {Op::floor, mx::floor, same_bits},
    {Op::ceil, mx::ceil, same_bits},
    {Op::logical_not, mx::logical_not, same_bits},
    {Op::bitwise_invert, mx::bitwise_invert, same_bits},
};

struct Binary {
  Op op;
  mx::array (*eager)(const mx::array&, const mx::array&, mx::StreamOrDevice);
  Tolerance tolerance;
};
const Binary binary_ops[] = {
    {Op::add, mx::add, same_bits},
    {Op::sub, mx::subtract, same_bits},
    {Op::mul, mx::multiply, same_bits},
    {Op::div, mx::divide, same_bits},
    {Op::floor_divide, mx::floor_divide, same_bits},
    {Op::remainder, mx::remainder, same_bits},
    {Op::power, mx::power, function},
    {Op::maximum, mx::maximum, same_bits},
    {Op::minimum, mx::minimum, same_bits},
    {Op::logaddexp, mx::logaddexp, function},
    {Op::atan2, mx::arctan2, function},
    {Op::equal, mx::equal, same_bits},
    {Op::not_equal, mx::not_equal, same_bits},
    {Op::less, mx::less, same_bits},
    {Op::less_equal, mx::less_equal, same_bits},
    {Op::greater, mx::greater, same_bits},
    {Op::greater_equal, mx::greater_equal, same_bits},
    {Op::logical_and, mx::logical_and, same_bits},
    {Op::logical_or, mx::logical_or, same_bits},
    {Op::bitwise_and, mx::bitwise_and, same_bits},
    {Op::bitwise_or, mx::bitwise_or, same_bits},
    {Op::bitwise_xor, mx::bitwise_xor, same_bits},
    {Op::left_shift, mx::left_shift, same_bits},
    {Op::right_shift, mx::right_shift, same_bits},
};

TEST(ReferenceMlx, Elementwise) {
  Comparison comparison(1);
  for (auto dtype : all_dtypes) {
    const TensorType type{dtype, {1000}};
    for (bool wild : {false, true}) {
      for (const auto& [op, eager, tolerance] : unary_ops) {
        auto call = [f = eager](const Arrays& a) { return f(a[0], {}); };
        comparison.expect(op, {comparison.tensor(type, wild)}, {}, call, tolerance);
      }
      comparison.expect(
          Op::round,
          {comparison.tensor(type, wild)},
          {},
          [](const Arrays& a) { return mx::round(a[0]); },
          same_bits);
      for (const auto& [op, eager, tolerance] : binary_ops) {
        auto call = [f = eager](const Arrays& a) { return f(a[0], a[1], {}); };
        comparison.expect(
            op, {comparison.tensor(type, wild), comparison.tensor(type, wild)}, {}, call, tolerance);
      }
    }
  }
}

// Floats that do not fit an integer are left out: what they become depends on the instructions the compiler
// chose.
TEST(ReferenceMlx, Casts) {
  Comparison comparison(2);
  for (auto from : all_dtypes) {
    for (auto to : all_dtypes) {
      Attributes attributes;
      attributes.set("dtype", to);
      const bool wild = !is_floating(from) || is_floating(to) || to == Dtype::bool_;
      auto call = [to](const Arrays& a) { return mx::astype(a[0], to_mlx(to)); };
      comparison.expect(Op::cast, {comparison.tensor({from, {1000}}, wild)}, attributes, call, same_bits);
    }
  }
}

// MLX adds halves in their own dtype; the contract says f32. They are compared in f32 and f64 only.
TEST(ReferenceMlx, Reductions) {
  Comparison comparison(3);
  Attributes axes, axis;
  axes.set("axes", std::vector<int64_t>{1});
  axis.set("axis", int64_t{1});
  for (auto dtype : all_dtypes) {
    for (bool wild : {false, true}) {
      auto expect = [&](Op op, const Attributes& attributes, const Eager& eager) {
        comparison.expect(op, {comparison.tensor({dtype, {60, 7}}, wild)}, attributes, eager, same_bits);
      };
      expect(Op::max, axes, [](const Arrays& a) { return mx::max(a[0], 1); });
      expect(Op::min, axes, [](const Arrays& a) { return mx::min(a[0], 1); });
      expect(Op::any, axes, [](const Arrays& a) { return mx::any(a[0], 1); });
      expect(Op::all, axes, [](const Arrays& a) { return mx::all(a[0], 1); });
      expect(Op::argmax, axis, [](const Arrays& a) { return mx::argmax(a[0], 1); });
      expect(Op::argmin, axis, [](const Arrays& a) { return mx::argmin(a[0], 1); });
      if (is_half(dtype)) continue;
      expect(Op::sum, axes, [](const Arrays& a) { return mx::sum(a[0], 1); });
      expect(Op::prod, axes, [](const Arrays& a) { return mx::prod(a[0], 1); });
      expect(Op::mean, axes, [](const Arrays& a) { return mx::mean(a[0], 1); });
      expect(Op::var, axes, [](const Arrays& a) { return mx::var(a[0], 1); });
    }
  }
}

TEST(ReferenceMlx, Composites) {
  Comparison comparison(4);
  Attributes precise;
  precise.set("precise", true);
  for (auto dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const Tolerance tolerance{16, is_half(dtype) ? 8e-3 : 1e-6};
    for (bool wild : {false, true}) {
      auto expect = [&](Op op, const Attributes& attributes, const Eager& eager) {
        comparison.expect(op, {comparison.tensor({dtype, {60, 7}}, wild)}, attributes, eager, tolerance);
      };
      expect(Op::softmax, {}, [](const Arrays& a) { return mx::softmax(a[0], -1); });
      expect(Op::softmax, precise, [](const Arrays& a) {
        return mx::softmax(a[0], std::vector<int>{-1}, true);
      });
      expect(Op::logsumexp, {}, [](const Arrays& a) { return mx::logsumexp(a[0], -1, true); });
    }
  }
}

// MLX adds the step again and again, which in halves soon is not start + i * step.
TEST(ReferenceMlx, Ranges) {
  Comparison comparison(5);
  for (auto dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::i32, Dtype::u8}) {
    const double step = is_floating(dtype) ? 0.3 : 3;
    Attributes attributes;
    attributes.set("start", 2.0);
    attributes.set("step", step);
    attributes.set("size", int64_t{60});
    attributes.set("dtype", dtype);
    auto call = [&](const Arrays&) { return mx::arange(2.0, 2 + 59.5 * step, step, to_mlx(dtype)); };
    comparison.expect(Op::arange, {}, attributes, call, same_bits);
  }
}

}  // namespace
}  // namespace autoperfect

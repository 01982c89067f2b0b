// Values computed by hand for every elementwise op, in exact dtype semantics.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/reference.h"

namespace autoperfect {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using Values = std::vector<double>;

// Runs one op on vectors of `dtype`, in `exact` mode unless told.
Values run(
    Op op,
    Dtype dtype,
    const std::vector<Values>& operands,
    Attributes attributes = {},
    Precision precision = Precision::exact) {
  Graph graph;
  std::vector<ValueId> ids;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Dtype own = op == Op::select && i == 0 ? Dtype::bool_ : dtype;
    const TensorType type{own, {static_cast<int64_t>(operands[i].size())}};
    ids.push_back(graph.add_input("x", type));
    inputs.push_back(Tensor::of(type, operands[i]));
  }
  graph.outputs = {graph.add(op, ids, attributes)};
  return run_reference(graph, inputs, precision).value()[0].values();
}

void expect_values(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << "element " << i << " is " << actual[i];
    } else {
      EXPECT_EQ(actual[i], expected[i]) << "element " << i;
      EXPECT_EQ(std::signbit(actual[i]), std::signbit(expected[i])) << "sign of element " << i;
    }
  }
}

void expect_unary(Op op, Dtype dtype, const Values& x, const Values& expected) {
  SCOPED_TRACE(std::string(name(op)) + " of " + std::string(name(dtype)));
  expect_values(run(op, dtype, {x}), expected);
}

void expect_binary(Op op, Dtype dtype, const Values& a, const Values& b, const Values& expected) {
  SCOPED_TRACE(std::string(name(op)) + " of " + std::string(name(dtype)));
  expect_values(run(op, dtype, {a, b}), expected);
}

float f(double value) {
  return static_cast<float>(value);
}

TEST(ReferenceElementwise, SimpleUnary) {
  expect_unary(Op::abs, Dtype::f32, {-2, -0.0, nan}, {2, 0, nan});
  expect_unary(Op::abs, Dtype::i8, {-128, -3}, {-128, 3});
  expect_unary(Op::neg, Dtype::f32, {0, -inf}, {-0.0, inf});
  expect_unary(Op::neg, Dtype::u8, {1, 0}, {255, 0});
  expect_unary(Op::sign, Dtype::f32, {-3, -0.0, nan, 5}, {-1, 0, 0, 1});
  expect_unary(Op::sign, Dtype::i16, {-3, 0, 9}, {-1, 0, 1});
  expect_unary(Op::square, Dtype::bf16, {1.0078125, -3}, {1.015625, 9});  // 1.01568... to 8 bits
  expect_unary(Op::square, Dtype::i8, {16, -11}, {0, 121});
  expect_unary(Op::floor, Dtype::f32, {-1.5, 1.5, -0.0}, {-2, 1, -0.0});
  expect_unary(Op::ceil, Dtype::f32, {-1.5, 1.5, -0.5}, {-1, 2, -0.0});
  expect_unary(Op::round, Dtype::f32, {0.5, 1.5, 2.5, -0.5, -1.5}, {0, 2, 2, -0.0, -2});
  expect_unary(Op::round, Dtype::i32, {7}, {7});
  expect_unary(Op::logical_not, Dtype::bool_, {0, 1}, {1, 0});
  expect_unary(Op::bitwise_invert, Dtype::u8, {0, 5}, {255, 250});
  expect_unary(Op::bitwise_invert, Dtype::i8, {0, 5}, {-1, -6});
  expect_unary(Op::bitwise_invert, Dtype::bool_, {0, 1}, {1, 0});
  expect_unary(Op::copy, Dtype::f16, {1.5, -0.0}, {1.5, -0.0});
  expect_unary(Op::stop_gradient, Dtype::f16, {1.5, nan}, {1.5, nan});
}

TEST(ReferenceElementwise, Functions) {
  expect_unary(Op::exp, Dtype::f32, {0, 1, -inf, 1000}, {1, f(2.718281828459045), 0, inf});
  expect_unary(Op::expm1, Dtype::f32, {0, 1e-10}, {0, f(1e-10)});
  expect_unary(Op::log, Dtype::f32, {1, 0, -1, inf}, {0, -inf, nan, inf});
  expect_unary(Op::log2, Dtype::f32, {8, 0.25}, {3, -2});
  expect_unary(Op::log10, Dtype::f32, {1000}, {3});
  expect_unary(Op::log1p, Dtype::f32, {0, -1}, {0, -inf});
  expect_unary(Op::sqrt, Dtype::f32, {2.25, -1, -0.0}, {1.5, nan, -0.0});
  expect_unary(Op::rsqrt, Dtype::f32, {4, 0, inf}, {0.5, inf, 0});
  expect_unary(Op::sin, Dtype::f32, {0, inf}, {0, nan});
  expect_unary(Op::cos, Dtype::f32, {0}, {1});
  expect_unary(Op::tan, Dtype::f32, {0, 1}, {0, f(1.5574077246549023)});
  expect_unary(Op::sinh, Dtype::f32, {0, 1}, {0, f(1.1752011936438014)});
  expect_unary(Op::cosh, Dtype::f32, {0, 1}, {1, f(1.5430806348152437)});
  expect_unary(Op::tanh, Dtype::f32, {-inf, 1}, {-1, f(0.7615941559557649)});
  expect_unary(Op::asin, Dtype::f32, {1, 2}, {f(1.5707963267948966), nan});
  expect_unary(Op::acos, Dtype::f32, {1, 0}, {0, f(1.5707963267948966)});
  expect_unary(Op::atan, Dtype::f32, {inf}, {f(1.5707963267948966)});
  expect_unary(Op::asinh, Dtype::f32, {1}, {f(0.881373587019543)});
  expect_unary(Op::acosh, Dtype::f32, {1, 0}, {0, nan});
  expect_unary(Op::atanh, Dtype::f32, {0.5, 1}, {f(0.5493061443340548), inf});
  expect_unary(Op::erf, Dtype::f32, {0.5, -inf}, {f(0.5204998778130465), -1});
  expect_unary(Op::sigmoid, Dtype::f32, {0, inf, -inf, nan}, {0.5, 1, 0, nan});
}

TEST(ReferenceElementwise, InverseErrorFunction) {
  expect_unary(Op::erfinv, Dtype::f32, {0, -0.0, 1, -1, 2, nan}, {0, -0.0, inf, -inf, nan, nan});
  expect_unary(Op::erfinv, Dtype::f64, {0.5}, {0.4769362762044699});
  for (double x : {1e-300, 1e-8, 0.1, 0.4999, 0.5, 0.9, 0.999999, 1 - 1e-15}) {
    const double y = run(Op::erfinv, Dtype::f64, {{x}})[0];
    if (x < 0.9) {
      EXPECT_NEAR(std::erf(y) / x, 1, 1e-15) << x;
    } else {
      EXPECT_NEAR(std::erfc(y) / (1 - x), 1, 1e-14) << x;
    }
  }
}

// rsqrt(3) is 0.57735: MLX rounds sqrt(3) to 1.734375 first. exp(1) of sigmoid is 2.71875 first.
TEST(ReferenceElementwise, HalvesRoundWhereMlxRounds) {
  expect_unary(Op::rsqrt, Dtype::bf16, {3}, {0.578125});
  expect_unary(Op::sigmoid, Dtype::bf16, {-1}, {0.26953125});
  expect_unary(Op::exp, Dtype::f16, {1, 12}, {2.71875, inf});
  expect_binary(Op::add, Dtype::bf16, {256, 1}, {1, 0.00390625}, {256, 1});  // ties to even
  expect_binary(Op::mul, Dtype::f16, {300}, {300}, {inf});
  expect_binary(Op::div, Dtype::f16, {1}, {3}, {0.333251953125});
}

TEST(ReferenceElementwise, SinglesRoundOnce) {
  expect_binary(Op::add, Dtype::f32, {16777216, 1e38}, {1, 3e38}, {16777216, inf});
  expect_binary(Op::sub, Dtype::f32, {1, 0}, {1, 0}, {0, 0});
  expect_binary(Op::mul, Dtype::f32, {0.1, -0.0}, {0.1, 5}, {f(double(f(0.1)) * f(0.1)), -0.0});
  expect_binary(Op::div, Dtype::f32, {1, -1, 0}, {3, 0, 0}, {f(1.0 / 3), -inf, nan});
  const Values oracle = run(Op::div, Dtype::f32, {{1}, {3}}, {}, Precision::oracle);
  EXPECT_EQ(oracle[0], 1.0 / 3);
}

TEST(ReferenceElementwise, IntegersWrap) {
  expect_binary(Op::add, Dtype::u8, {250}, {10}, {4});
  expect_binary(Op::sub, Dtype::u16, {0}, {1}, {65535});
  expect_binary(Op::mul, Dtype::i32, {65536, -3}, {65536, 7}, {0, -21});
  expect_binary(Op::add, Dtype::bool_, {0, 1, 1}, {0, 0, 1}, {0, 1, 1});
  expect_binary(Op::mul, Dtype::i64, {4294967296.0}, {4294967296.0}, {0});
}

TEST(ReferenceElementwise, DivisionAndRemainder) {
  expect_binary(Op::floor_divide, Dtype::i32, {7, -7, 7, -7, 5}, {2, 2, -2, -2, 0}, {3, -4, -4, 3, 0});
  expect_binary(Op::remainder, Dtype::i32, {7, -7, 7, -7, 5}, {3, 3, -3, -3, 0}, {1, 2, -2, -1, 5});
  expect_binary(Op::floor_divide, Dtype::i32, {-2147483648.0}, {-1}, {-2147483648.0});
  expect_binary(Op::remainder, Dtype::i32, {-2147483648.0}, {-1}, {0});
  expect_binary(Op::floor_divide, Dtype::u8, {200, 9}, {7, 0}, {28, 0});
  expect_binary(Op::floor_divide, Dtype::f32, {7, -7, 1}, {2, 2, 0}, {3, -4, inf});
  expect_binary(Op::remainder, Dtype::f32, {5, 5, -5, -0.0}, {3, -3, 3, 1}, {2, -1, 1, -0.0});
  expect_binary(Op::remainder, Dtype::f32, {5, 0.5, 5}, {-inf, inf, 0}, {-inf, 0.5, nan});
}

TEST(ReferenceElementwise, Power) {
  expect_binary(Op::power, Dtype::i32, {2, -3, 2, 0, 7}, {31, 3, -1, 0, 0}, {-2147483648.0, -27, 0, 1, 1});
  expect_binary(Op::power, Dtype::u8, {2, 3}, {8, 4}, {0, 81});
  expect_binary(
      Op::power, Dtype::f32, {-2, 0, -0.0, 2}, {0.5, -1, -1, 0.5}, {nan, inf, -inf, f(std::sqrt(2.0))});
}

TEST(ReferenceElementwise, MaximumAndMinimum) {
  expect_binary(
      Op::maximum, Dtype::f32, {nan, 1, 0.0, -0.0, 3}, {1, nan, -0.0, 0.0, 2}, {nan, nan, -0.0, 0.0, 3});
  expect_binary(
      Op::minimum, Dtype::f32, {nan, 1, 0.0, -0.0, 3}, {1, nan, -0.0, 0.0, 2}, {nan, nan, -0.0, 0.0, 2});
  expect_binary(Op::maximum, Dtype::i8, {-5, 4}, {3, -9}, {3, 4});
  expect_binary(Op::minimum, Dtype::u32, {4294967295.0}, {1}, {1});
}

TEST(ReferenceElementwise, TwoArgumentFunctions) {
  expect_binary(
      Op::logaddexp,
      Dtype::f32,
      {0, inf, -inf, nan, -inf},
      {0, 1, -inf, 1, 3},
      {f(std::log(2.0)), inf, -inf, nan, 3});
  expect_binary(Op::atan2, Dtype::f32, {1, 0, -0.0}, {0, -1, -1}, {f(M_PI / 2), f(M_PI), f(-M_PI)});
}

TEST(ReferenceElementwise, Comparisons) {
  const Values a = {1, 2, nan, -0.0}, b = {2, 2, nan, 0.0};
  expect_binary(Op::equal, Dtype::f32, a, b, {0, 1, 0, 1});
  expect_binary(Op::not_equal, Dtype::f32, a, b, {1, 0, 1, 0});
  expect_binary(Op::less, Dtype::f32, a, b, {1, 0, 0, 0});
  expect_binary(Op::less_equal, Dtype::f32, a, b, {1, 1, 0, 1});
  expect_binary(Op::greater, Dtype::f32, a, b, {0, 0, 0, 0});
  expect_binary(Op::greater_equal, Dtype::f32, a, b, {0, 1, 0, 1});
  Attributes nan_equal;
  nan_equal.set("nan_equal", true);
  expect_values(run(Op::equal, Dtype::f32, {a, b}, nan_equal), {0, 1, 1, 1});
}

TEST(ReferenceElementwise, UnsignedSixtyFourBits) {
  const TensorType type{Dtype::u64, {2}};
  Graph graph;
  const ValueId a = graph.add_input("a", type), b = graph.add_input("b", type);
  graph.outputs = {
      graph.add(Op::less, {a, b}), graph.add(Op::floor_divide, {a, b}), graph.add(Op::right_shift, {a, b})};
  Tensor x = Tensor::zeros(type), y = Tensor::zeros(type);
  x.set_integer(0, -1);  // 2^64 - 1
  y.set_integer(0, 3);
  x.set_integer(1, 3);
  y.set_integer(1, -1);
  const auto out = run_reference(graph, {x, y}, Precision::exact).value();
  EXPECT_EQ(out[0].values(), (Values{0, 1}));
  EXPECT_EQ(out[1].integer_at(0), 0x5555555555555555);
  EXPECT_EQ(out[2].integer_at(0), 0x1fffffffffffffff);
}

TEST(ReferenceElementwise, LogicAndBits) {
  expect_binary(Op::logical_and, Dtype::bool_, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1});
  expect_binary(Op::logical_or, Dtype::bool_, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 1});
  expect_binary(Op::bitwise_and, Dtype::u8, {12}, {10}, {8});
  expect_binary(Op::bitwise_or, Dtype::u8, {12}, {10}, {14});
  expect_binary(Op::bitwise_xor, Dtype::i8, {12, -1}, {10, 1}, {6, -2});
  expect_binary(Op::left_shift, Dtype::u8, {1, 1, 1}, {7, 8, 33}, {128, 0, 2});
  expect_binary(Op::left_shift, Dtype::i32, {1, 1}, {31, 33}, {-2147483648.0, 2});
  expect_binary(Op::right_shift, Dtype::i8, {-128, 64}, {7, 3}, {-1, 8});
  expect_values(run(Op::select, Dtype::f32, {{1, 0}, {10, 20}, {30, 40}}), {10, 40});
}

Values cast(Dtype from, Dtype to, const Values& x, Precision precision = Precision::exact) {
  Attributes attributes;
  attributes.set("dtype", to);
  return run(Op::cast, from, {x}, attributes, precision);
}

TEST(ReferenceElementwise, Casts) {
  expect_values(cast(Dtype::f32, Dtype::i32, {1.9, -1.9, nan, 1e10}), {1, -1, -2147483648.0, -2147483648.0});
  expect_values(cast(Dtype::f32, Dtype::i8, {300, -1, 1e10}), {44, -1, 0});
  expect_values(cast(Dtype::f32, Dtype::u32, {4e9, -1}), {4e9, 4294967295.0});
  expect_values(cast(Dtype::f32, Dtype::u64, {1e19}), {f(1e19)});
  expect_values(cast(Dtype::f32, Dtype::bool_, {0, -0.0, 0.1, nan}), {0, 0, 1, 1});
  expect_values(cast(Dtype::i32, Dtype::u8, {-1, 256}), {255, 0});
  expect_values(cast(Dtype::i32, Dtype::f32, {16777217}), {16777216});
  expect_values(cast(Dtype::f32, Dtype::bf16, {1.00390625, 1.01171875}), {1, 1.015625});
  expect_values(
      cast(Dtype::f32, Dtype::f16, {65519, 65520, 6e-8, 2e-8}), {65504, inf, std::ldexp(1, -24), 0});
  expect_values(cast(Dtype::f32, Dtype::bf16, {0.1}, Precision::oracle), {f(0.1)});
  expect_values(cast(Dtype::f32, Dtype::i32, {1.9}, Precision::oracle), {1});
}

// Straight to f32: by way of f64 this would round up.
TEST(ReferenceElementwise, LargeIntegersConvertOnce) {
  Graph graph;
  const ValueId x = graph.add_input("x", {Dtype::i64, {1}});
  Attributes to;
  to.set("dtype", Dtype::f32);
  graph.outputs = {graph.add(Op::cast, {x}, to)};
  Tensor tensor = Tensor::zeros({Dtype::i64, {1}});
  tensor.set_integer(0, (int64_t{1} << 60) + (int64_t{1} << 36) + 1);
  const auto out = run_reference(graph, {tensor}, Precision::exact).value();
  EXPECT_EQ(out[0].at(0), std::ldexp(1, 60) + std::ldexp(1, 37));
}

TEST(ReferenceTensor, HoldsEveryDtype) {
  for (auto dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    expect_values(Tensor::of({dtype, {5}}, {1.5, -0.0, inf, nan, -2}).values(), {1.5, -0.0, inf, nan, -2});
  }
  for (auto dtype :
       {Dtype::u8, Dtype::u16, Dtype::u32, Dtype::u64, Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64}) {
    expect_values(Tensor::of({dtype, {2}}, {7.9, 100}).values(), {7, 100});
  }
  EXPECT_EQ(Tensor::of({Dtype::f16, {1}}, {std::ldexp(3, -24)}).at(0), std::ldexp(3, -24));
  EXPECT_EQ(Tensor::of({Dtype::f16, {1}}, {1.5}).bytes, (std::vector<unsigned char>{0x00, 0x3e}));
  EXPECT_EQ(Tensor::of({Dtype::bf16, {1}}, {-1.5}).bytes, (std::vector<unsigned char>{0xc0, 0xbf}));
  EXPECT_THROW(Tensor::of({Dtype::f32, {2}}, {1}), std::invalid_argument);
}

}  // namespace
}  // namespace autoperfect

// Reductions, views, contractions, sources and composites: small tensors computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/graph_text.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using Values = std::vector<double>;

// Runs "@g(arguments) { body }" whose inputs hold the given values, in order.
std::vector<Values> run(
    const std::string& arguments,
    const std::string& body,
    const std::vector<Values>& values,
    Precision precision = Precision::exact) {
  auto graph = parse_graph("autoperfect.graph 1\ngraph @g(" + arguments + ") {\n" + body + "\n}\n");
  if (!graph) throw std::runtime_error(format(graph.errors()));
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    inputs.push_back(Tensor::of(graph->type(graph->inputs[i].value), values[i]));
  }
  auto outputs = run_reference(*graph, inputs, precision);
  if (!outputs) throw std::runtime_error(format(outputs.errors()));
  std::vector<Values> result;
  for (const auto& tensor : *outputs)
    result.push_back(tensor.values());
  return result;
}

void expect_values(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << "element " << i;
    } else {
      EXPECT_EQ(actual[i], expected[i]) << "element " << i;
    }
  }
}

void expect(
    const std::string& arguments,
    const std::string& body,
    const std::vector<Values>& values,
    const Values& y) {
  SCOPED_TRACE(body);
  expect_values(run(arguments, "  %y = " + body + "\n  return %y", values)[0], y);
}

const Values six = {1, 2, 3, 4, 5, 6};

TEST(ReferenceReduce, Sums) {
  expect("%x: f32[2,3]", "sum %x axes=[1] : f32[2]", {six}, {6, 15});
  expect("%x: f32[2,3]", "sum %x axes=[0] keepdims=true : f32[1,3]", {six}, {5, 7, 9});
  expect("%x: f32[2,3]", "sum %x axes=[0, 1] : f32[]", {six}, {21});
  expect("%x: f32[2,3]", "sum %x axes=[] : f32[2,3]", {six}, six);
  expect("%x: f32[0]", "sum %x axes=[0] : f32[]", {Values{}}, {0});
  expect("%x: i8[2]", "sum %x axes=[0] : i32[]", {{100, 100}}, {200});
  expect("%x: bool[3]", "sum %x axes=[0] : i32[]", {{1, 0, 1}}, {2});
  expect("%x: f32[3]", "sum %x axes=[0] : f32[]", {{16777216, 1, 1}}, {16777216});  // in index order, in f32
  expect("%x: bf16[3]", "sum %x axes=[0] : bf16[]", {{256, 1, 1}}, {258});  // in f32, rounded at the end
  expect("%x: f64[3]", "sum %x axes=[0] : f64[]", {{16777216, 1, 1}}, {16777218});
}

TEST(ReferenceReduce, OracleSumsInDouble) {
  const auto y =
      run("%x: f32[3]", "  %y = sum %x axes=[0] : f32[]\n  return %y", {{16777216, 1, 1}}, Precision::oracle);
  expect_values(y[0], {16777218});
}

TEST(ReferenceReduce, Others) {
  expect("%x: f32[2,3]", "prod %x axes=[1] : f32[2]", {six}, {6, 120});
  expect("%x: u8[3]", "prod %x axes=[0] : u32[]", {{20, 20, 2}}, {800});
  expect("%x: f32[2,3]", "max %x axes=[0] : f32[3]", {{1, nan, -inf, 4, 5, -inf}}, {4, nan, -inf});
  expect("%x: f32[2,3]", "min %x axes=[0] : f32[3]", {{1, nan, inf, 4, 5, inf}}, {1, nan, inf});
  expect("%x: i8[3]", "max %x axes=[0] : i8[]", {{-128, -5, -7}}, {-5});
  expect("%x: u8[3]", "min %x axes=[0] : u8[]", {{255, 200, 255}}, {200});
  expect("%x: f32[2,2]", "any %x axes=[1] : bool[2]", {{0, -0.0, 0, nan}}, {0, 1});
  expect("%x: i32[2,2]", "all %x axes=[1] : bool[2]", {{1, 2, 1, 0}}, {1, 0});
}

TEST(ReferenceReduce, ArgumentsAreTheFirst) {
  expect("%x: f32[2,3]", "argmax %x axis=1 : u32[2]", {{1, 3, 3, 0, nan, 9}}, {1, 1});
  expect("%x: f32[2,3]", "argmin %x axis=1 keepdims=true : u32[2,1]", {{1, 0, 0, nan, -1, nan}}, {1, 0});
  expect("%x: i32[2,3]", "argmax %x axis=0 : u32[3]", {{1, 5, 2, 1, 4, 3}}, {0, 0, 1});
}

TEST(ReferenceViews, MoveElements) {
  expect("%x: f32[2,3]", "transpose %x axes=[1, 0] : f32[3,2]", {six}, {1, 4, 2, 5, 3, 6});
  expect("%x: f32[2,3]", "reshape %x : f32[3,2]", {six}, six);
  expect("%x: f32[3]", "broadcast %x : f32[2,3]", {{1, 2, 3}}, {1, 2, 3, 1, 2, 3});
  expect("%x: f32[2,1]", "broadcast %x : f32[2,3]", {{1, 2}}, {1, 1, 1, 2, 2, 2});
  expect("%x: f32[6]", "slice %x start=[1] stop=[6] strides=[2] : f32[3]", {six}, {2, 4, 6});
  expect("%x: f32[6]", "slice %x start=[-2] stop=[9] strides=[1] : f32[2]", {six}, {5, 6});
  expect("%x: f32[6]", "slice %x start=[9] stop=[-7] strides=[-2] : f32[3]", {six}, {6, 4, 2});
  expect("%x: f32[2,3]", "slice %x start=[1, 2] stop=[2, -4] strides=[1, -1] : f32[1,3]", {six}, {6, 5, 4});
}

TEST(ReferenceViews, Indexing) {
  expect(
      "%x: f32[2,2], %z: f32[2,1]",
      "concatenate %x, %z, %x axis=1 : f32[2,5]",
      {{1, 2, 3, 4}, {8, 9}},
      {1, 2, 8, 1, 2, 3, 4, 9, 3, 4});
  expect(
      "%x: f32[2,3], %k: i32[2,2]",
      "gather_axis %x, %k axis=1 : f32[2,2]",
      {six, {2, -3, 0, 1}},
      {3, 1, 4, 5});
  EXPECT_THROW(
      run("%x: f32[3], %k: i32[1]",
          "  %y = gather_axis %x, %k axis=0 : f32[1]\n  return %y",
          {{1, 2, 3}, {3}}),
      std::runtime_error);
}

TEST(ReferenceSources, ConstantsAndRanges) {
  expect("%x: f32[]", "full %x : f32[2,2]", {{3}}, {3, 3, 3, 3});
  expect("", "const [1, 2, 300] : u8[3]", {}, {1, 2, 44});
  expect("", "const 0.1 : bf16[]", {}, {0.10009765625});
  expect("", "arange start=5.0 step=-2.0 : i32[4]", {}, {5, 3, 1, -1});
  expect("", "arange start=0.0 step=1.0 : bf16[258]", {}, [] {
    Values steps;
    for (int i = 0; i < 258; ++i)
      steps.push_back(std::min(i, 256));  // 256 + 1 is 256 in bf16
    return steps;
  }());
}

TEST(ReferenceMatmul, BatchesBroadcast) {
  expect("%a: f32[2,2], %b: f32[2,1]", "matmul %a, %b : f32[2,1]", {{1, 2, 3, 4}, {5, 6}}, {17, 39});
  expect(
      "%a: bf16[2,1,2], %b: bf16[2,2]",
      "matmul %a, %b : bf16[2,1,2]",
      {{1, 2, 3, 4}, {1, 0, 0, 1}},
      {1, 2, 3, 4});
}

// As MLX on the CPU does: the zeros around an image are multiplied where windows are gathered into a matrix,
// and left out otherwise. Only an infinite weight shows it.
TEST(ReferenceConvolution, PaddingTimesInfinity) {
  auto conv = [](const std::string& types, const std::string& attributes, const Values& x, const Values& w) {
    return run(
        types.substr(0, types.find(" to ")),
        "%y = conv %x, %w " + attributes + " : " + types.substr(types.find(" to ") + 4) + "\nreturn %y",
        {x, w})[0];
  };
  const std::string line = "%x: f32[1,2,1], %w: f32[1,2,1] to f32[1,3,1]";
  const std::string gathered =
      "groups=1 input_dilation=[1] kernel_dilation=[1] padding_high=[1] padding_low=[1] strides=[1]";
  expect_values(conv(line, gathered, {2, 3}, {1, inf}), {inf, inf, nan});
  expect_values(conv(line, "flip=true " + gathered, {2, 3}, {1, inf}), {nan, inf, inf});
  // A window that skips every other element leaves one position, both of whose ends are outside.
  const std::string dilated =
      "groups=1 input_dilation=[1] kernel_dilation=[2] padding_high=[1] padding_low=[1] strides=[1]";
  expect_values(conv("%x: f32[1,2,1], %w: f32[1,2,1] to f32[1,2,1]", dilated, {2, 3}, {1, inf}), {inf, 2});
  const std::string groups =
      "groups=2 input_dilation=[1] kernel_dilation=[1] padding_high=[1] padding_low=[0] strides=[1]";
  const std::string channels = "%x: f32[1,1,2], %w: f32[2,2,1] to f32[1,1,2]";
  expect_values(conv(channels, groups, {2, 3}, {5, inf, 7, 1}), {nan, 21});
  expect_values(conv(channels, "flip=true " + groups, {2, 3}, {5, inf, 7, 1}), {inf, 3});
}

TEST(ReferenceElementwiseGraph, Broadcasts) {
  expect(
      "%a: f32[2,1], %b: f32[3]", "add %a, %b : f32[2,3]", {{10, 20}, {1, 2, 3}}, {11, 12, 13, 21, 22, 23});
  expect("%a: f32[], %b: f32[2]", "sub %a, %b : f32[2]", {{1}, {1, 2}}, {0, -1});
}

TEST(ReferenceComposites, SoftmaxOfInfinities) {
  expect("%x: f32[2]", "softmax %x : f32[2]", {{0, 0}}, {0.5, 0.5});
  expect("%x: f32[2]", "softmax %x : f32[2]", {{-inf, 3}}, {0, 1});
  expect("%x: f32[2]", "softmax %x : f32[2]", {{inf, 3}}, {nan, nan});
  expect("%x: f32[2]", "softmax %x : f32[2]", {{-inf, -inf}}, {nan, nan});
}

// exp(-1) is 0.3678794; 1 / 1.3678794 is 0.7310586. In bf16 each step rounds: 0.367188, 1.367188 to 1.367188
// and 0.730469, then 0.367188 * 0.730469 is 0.268219 to 0.267578; precise rounds 0.268941 once.
TEST(ReferenceComposites, SoftmaxRoundsEachStepUnlessPrecise) {
  expect("%x: bf16[2]", "softmax %x : bf16[2]", {{0, -1}}, {0.73046875, 0.267578125});
  expect("%x: bf16[2]", "softmax %x precise=true : bf16[2]", {{0, -1}}, {0.73046875, 0.26953125});
}

TEST(ReferenceComposites, LogSumExp) {
  expect("%x: f32[2]", "logsumexp %x : f32[1]", {{0, 0}}, {static_cast<float>(std::log(2.0))});
  expect("%x: f32[2]", "logsumexp %x : f32[1]", {{inf, -inf}}, {inf});
  expect("%x: f32[2]", "logsumexp %x : f32[1]", {{-inf, -inf}}, {-inf});
  expect("%x: f32[2]", "logsumexp %x : f32[1]", {{nan, inf}}, {nan});
  expect("%x: f32[2]", "log_softmax %x : f32[2]", {{-inf, 3}}, {-inf, 0});
}

TEST(ReferenceComposites, Moments) {
  expect("%x: f32[2,3]", "mean %x axes=[1] : f32[2]", {six}, {2, 5});
  expect("%x: i32[2,3]", "mean %x axes=[0] keepdims=true : f32[1,3]", {six}, {2.5, 3.5, 4.5});
  expect("%x: f32[4]", "var %x axes=[0] : f32[]", {{1, 2, 3, 6}}, {3.5});
  expect("%x: f32[4]", "var %x axes=[0] ddof=2 : f32[]", {{1, 2, 3, 6}}, {7});
  expect("%x: f32[4]", "var %x axes=[0] ddof=5 : f32[]", {{1, 2, 3, 6}}, {inf});
  expect(
      "%x: f32[4]",
      "std %x axes=[0] ddof=2 keepdims=true : f32[1]",
      {{1, 1, 3, 3}},
      {static_cast<float>(std::sqrt(2.0))});
}

TEST(ReferenceGraph, RefusesWhatItCannotRun) {
  auto graph = parse_graph(
      "autoperfect.graph 1\ngraph @g(%x: f32[2]) {\n  %y = opaque %x key=0 primitive=\"Sort\" : f32[2]\n  "
      "return %y\n}\n");
  ASSERT_TRUE(graph.ok()) << format(graph.errors());
  const auto opaque = run_reference(*graph, {Tensor::of({Dtype::f32, {2}}, {1, 2})}, Precision::exact);
  ASSERT_FALSE(opaque.ok());
  EXPECT_EQ(opaque.errors()[0].code, "opaque-node");
  EXPECT_EQ(run_reference(*graph, {}, Precision::exact).errors()[0].code, "input-count");
}

}  // namespace
}  // namespace autoperfect

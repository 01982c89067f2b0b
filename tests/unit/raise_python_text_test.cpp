// The Python text of a graph: one assignment a line, Python's own spellings.
#include <gtest/gtest.h>

#include "ir/graph_text.h"
#include "lower/lower.h"

namespace autoperfect {
namespace {

std::string python(const std::string& signature, const std::string& body) {
  const std::string text = "autoperfect.graph 1\ngraph @f(" + signature + ") {\n" + body + "}\n";
  auto graph = parse_graph(text);
  if (!graph) throw std::runtime_error(format(graph.errors(), text));
  return to_mlx_python(*graph);
}

TEST(RaisePythonText, ReadsLikePython) {
  EXPECT_EQ(
      python(
          "%x: f32[4,8], %w: f32[8]",
          "  %total = sum %x axes=[1] keepdims=true : f32[4,1]\n"
          "  %inv_n = const 0.125 : f32[]\n"
          "  %mean = mul %total, %inv_n : f32[4,1]\n"
          "  %diff = sub %x, %mean : f32[4,8]\n"
          "  %y = mul %diff, %w : f32[4,8]\n"
          "  return %y, %mean\n"),
      "def f(x: \"f32[4,8]\", w: \"f32[8]\"):\n"
      "    total = mx.sum(x, axis=1, keepdims=True)\n"
      "    mean = mx.multiply(total, 0.125)\n"
      "    diff = mx.subtract(x, mean)\n"
      "    y = mx.multiply(diff, w)\n"
      "    return y, mean\n");
}

TEST(RaisePythonText, ViewsAndIndexing) {
  EXPECT_EQ(
      python(
          "%x: f32[6], %k: i32[2,2]",
          "  %back = slice %x start=[5] stop=[-7] strides=[-1] : f32[6]\n"
          "  %pairs = reshape %back : f32[3,2]\n"
          "  %turned = transpose %pairs axes=[1, 0] : f32[2,3]\n"
          "  %picked = gather_axis %turned, %k axis=1 : f32[2,2]\n"
          "  %y = concatenate %picked, %turned axis=1 : f32[2,5]\n"
          "  %one = reshape %y : f32[10]\n"
          "  return %one\n"),
      "def f(x: \"f32[6]\", k: \"i32[2,2]\"):\n"
      "    back = x[5:-7:-1]\n"
      "    pairs = mx.reshape(back, (3, 2))\n"
      "    turned = mx.transpose(pairs, (1, 0))\n"
      "    picked = mx.take_along_axis(turned, k, axis=1)\n"
      "    y = mx.concatenate([picked, turned], axis=1)\n"
      "    one = mx.reshape(y, (10,))\n"
      "    return one\n");
}

// A Python number takes the dtype of the array it meets, so others are spelled out.
TEST(RaisePythonText, ConstantsKeepTheirDtype) {
  EXPECT_EQ(
      python(
          "%x: bf16[2], %k: u8[2], %c: bool[2]",
          "  %inf = const -inf : bf16[]\n"
          "  %a = maximum %x, %inf : bf16[2]\n"
          "  %three = const 3 : u8[]\n"
          "  %b = add %k, %three : u8[2]\n"
          "  %third = const 0.3 : bf16[]\n"
          "  %third_too = const 0.3 : bf16[]\n"
          "  %z = add %third, %third_too : bf16[]\n"
          "  %d = select %c, %a, %z : bf16[2]\n"
          "  %e = cast %d : f32[2]\n"
          "  return %b, %e\n"),
      "def f(x: \"bf16[2]\", k: \"u8[2]\", c: \"bool[2]\"):\n"
      "    a = mx.maximum(x, -mx.inf)\n"
      "    three = mx.array(3, mx.uint8)\n"
      "    b = mx.add(k, three)\n"
      "    third = mx.array(0.30078125, mx.bfloat16)\n"
      "    third_too = mx.array(0.30078125, mx.bfloat16)\n"
      "    z = mx.add(third, third_too)\n"
      "    d = mx.where(c, a, z)\n"
      "    e = d.astype(mx.float32)\n"
      "    return b, e\n");
}

TEST(RaisePythonText, AvoidsNamesThatPythonNeeds) {
  EXPECT_EQ(
      python(
          "%lambda: f32[2], %mx: f32[2]",
          "  %0 = add %lambda, %mx : f32[2]\n"
          "  return %0\n"),
      "def f(lambda_: \"f32[2]\", mx_: \"f32[2]\"):\n"
      "    t0 = mx.add(lambda_, mx_)\n"
      "    return t0\n");
}

TEST(RaisePythonText, RefusesOpaqueNodes) {
  EXPECT_THROW(
      python("%x: f32[2]", "  %y = opaque %x key=0 primitive=\"Sort\" : f32[2]\n  return %y\n"),
      InternalError);
}

TEST(ParsePythonText, EveryFormReadsBack) {
  const std::string text =
      "def f(x: \"f32[4,6]\", k: \"i32[4,1]\", c: \"bool[6]\", w: \"bf16[6,2]\"):\n"
      "    a = mx.where(c, x, -mx.inf)\n"
      "    b = mx.maximum(a, 0.5)\n"
      "    total = mx.sum(b, axis=(0, 1), keepdims=True)\n"
      "    best = mx.argmax(b, axis=1, keepdims=True)\n"
      "    back = b[3:-5:-1, 0:6:2]\n"
      "    turned = mx.transpose(back, (1, 0))\n"
      "    flat = mx.reshape(turned, (12,))\n"
      "    wide = mx.broadcast_to(flat, (2, 12))\n"
      "    both = mx.concatenate([wide, wide], axis=0)\n"
      "    taken = mx.take_along_axis(x, k, axis=1)\n"
      "    half = x.astype(mx.bfloat16)\n"
      "    product = mx.matmul(half, w)\n"
      "    so_far = mx.cumsum(product, axis=0, reverse=True, inclusive=False)\n"
      "    more = mx.add(k, 3)\n"
      "    list = mx.array([1, 18446744073709551615], mx.uint64)\n"
      "    numbers = mx.array([0.5, mx.inf, mx.nan], mx.float16)\n"
      "    filled = mx.full((2, 2), -1.5, mx.float32)\n"
      "    one = mx.array(True, mx.bool_)\n"
      "    counted = mx.arange(0.0, 4.5, 1.0, mx.int64)\n"
      "    soft = mx.softmax(x, axis=-1)\n"
      "    spread = mx.var(x, axis=1, ddof=1)\n"
      "    return total, best, both, taken, so_far, more, list, numbers, filled, one, counted, soft, "
      "spread\n";
  const auto graph = parse_mlx_python(text);
  ASSERT_TRUE(graph.ok()) << format(graph.errors(), text);
  EXPECT_EQ(to_mlx_python(*graph), text);
  EXPECT_EQ(graph->type(graph->outputs[4]), (TensorType{Dtype::bf16, {4, 2}}));
  EXPECT_EQ(graph->type(graph->outputs[10]), (TensorType{Dtype::i64, {5}}));
}

TEST(ParsePythonText, NestedCallsAndNamesAssignedAgain) {
  const std::string text =
      "def f(x: \"f32[4]\"):\n"
      "    y = mx.exp(mx.add(x, 1.0))\n"
      "    y = mx.multiply(y, y)\n"
      "    z = y\n"
      "    return z\n";
  const auto graph = parse_mlx_python(text);
  ASSERT_TRUE(graph.ok()) << format(graph.errors(), text);
  EXPECT_EQ(graph->nodes.size(), 4u);
  EXPECT_EQ(graph->producer(graph->outputs[0])->op, Op::mul);
}

TEST(ParsePythonText, NumbersOutOfRangeAreThoseOfPython) {
  auto value = [](const std::string& call) {
    const auto graph =
        parse_mlx_python("def f(x: \"f32[4]\", k: \"u64[4]\"):\n    y = " + call + "\n    return y\n");
    if (!graph.ok()) return graph.errors()[0].code;
    return print(*graph);
  };
  EXPECT_NE(value("mx.maximum(x, -1e999)").find("const -inf : f32"), std::string::npos);
  EXPECT_NE(value("mx.maximum(x, 1e-999)").find("const 0.0 : f32"), std::string::npos);
  EXPECT_NE(value("mx.add(k, 18446744073709551615)").find("const -1 : u64[]"), std::string::npos)
      << value("mx.add(k, 18446744073709551615)");
  EXPECT_EQ(value("mx.add(k, 18446744073709551616)"), "bad-number");
  EXPECT_EQ(value("mx.add(x, 99999999999999999999)"), "bad-number");
}

TEST(ParsePythonText, ReportsEveryMistake) {
  const std::string text =
      "def f(x: \"f32[4]\", n: \"i32[4]\", b: \"f32[\"):\n"
      "    return x\n";
  const auto signature = parse_mlx_python(text);
  ASSERT_FALSE(signature.ok());
  EXPECT_EQ(signature.errors()[0].code, "bad-type");
  const std::string body =
      "def f(x: \"f32[4]\", n: \"i32[4]\"):\n"
      "    a = mx.exq(x)\n"
      "    b = mx.exp(a)\n"  // follows
      "    c = mx.add(x, n)\n"
      "    d = mx.add(n, 0.5)\n"
      "    e = mx.cumsum(x)\n"
      "    g = mx.exp(unknown)\n"
      "    h = x[0:2\n"
      "    i = mx.array(1)\n"
      "    j = x.astype(3)\n"
      "    k = 3\n"
      "    return x, m\n";
  const auto graph = parse_mlx_python(body);
  ASSERT_FALSE(graph.ok());
  std::vector<std::string> found;
  for (const auto& d : graph.errors())
    found.push_back(std::to_string(d.where.line) + " " + d.code);
  EXPECT_EQ(
      found,
      (std::vector<std::string>{
          "2 bad-call",
          "4 dtype-mismatch",
          "5 bad-call",
          "6 bad-call",
          "7 undefined-value",
          "8 unexpected-token",
          "9 bad-call",
          "10 bad-call",
          "11 not-an-array",
          "12 undefined-value"}))
      << format(graph.errors(), body);
}

}  // namespace
}  // namespace autoperfect

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
      "def f(x, w):\n"
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
      "def f(x, k):\n"
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
      "def f(x, k, c):\n"
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
      "def f(lambda_, mx_):\n"
      "    t0 = mx.add(lambda_, mx_)\n"
      "    return t0\n");
}

TEST(RaisePythonText, RefusesOpaqueNodes) {
  EXPECT_THROW(
      python("%x: f32[2]", "  %y = opaque %x key=0 primitive=\"Sort\" : f32[2]\n  return %y\n"),
      InternalError);
}

}  // namespace
}  // namespace autoperfect

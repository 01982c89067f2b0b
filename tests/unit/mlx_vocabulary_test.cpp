// The language `mlx`: each function that its prompt names can be called by some draft.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "check/check.h"
#include "generate/language/vocabulary.h"
#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "reference_kernels.h"

namespace autoperfect {
namespace {

// A kernel of three inputs and an output of these types; a draft is held to its buffers alone here.
Kernel of_types(const std::string& in, const std::string& out, const std::string& out_shape) {
  const bool rows = out_shape == "[6]";
  return parsed(
      fmt::format(
          "    in %x: {0}[6,6] row\n    in %y: {0}[6,6] row\n    in %z: {0}[6,6] row\n    out %o: {1}{2} "
          "row\n",
          in,
          out,
          out_shape),
      fmt::format(
          "    axes i=6, j=6\n    %a[i,j] = select true, %x[i,j], %y[i,j] : {0}\n"
          "    %b[i,j] = select true, %a[i,j], %z[i,j] : {0}\n    %c[i,j] = cast %b[i,j] : {1}\n"
          "    %o[{2}] = {3} %c[i,j] : {1}\n",
          in,
          out,
          rows ? "i" : "i,j",
          rows ? "max(j)" : "copy"));
}

// `@` is the function.
const std::string drafts[] = {
    "out0 = mx.@(in0)",
    "out0 = mx.@(in0, in1)",
    "out0 = mx.@(in0, in1, in2)",
    "out0 = mx.@(in0 == in1, in0, in1)",
    "out0 = mx.@(in0, axis=1)",
    "out0 = mx.@(in0, [6, 6])",
    "out0 = mx.@(in0, [1, 0])",
    "out0 = mx.@(in0, in1, axis=1)",
    "a = in0[0:6:1, 0:3:1]\nb = in1[0:6:1, 3:6:1]\nout0 = mx.@([a, b], axis=1)",
    "a = mx.@(0, 6, 1, mx.int32)\nout0 = mx.add(in0, a)"};

bool can_be_called(std::string_view function) {
  for (const char* in : {"f32", "i32", "bool", "c64"})
    for (const char* out : {"f32", "i32", "bool", "c64", "u32", "i64"})
      for (const char* shape : {"[6,6]", "[6]"})
        for (auto draft : drafts) {
          draft.replace(draft.find('@'), 1, function);
          if (check(of_types(in, out, shape), {"mlx", draft + "\n"}, *find_target("cpu.avx2"))) return true;
        }
  return false;
}

TEST(vocabulary_mlx, each_function_can_be_called) {
  for (auto function : mlx_functions())
    EXPECT_TRUE(can_be_called(function)) << function;
}

// MLX reads whatever lies there for an index that is outside; a draft is not to be trusted with that.
TEST(mlx_drafts, indices_are_clipped) {
  auto kernel = parsed(
      "    in %x: f32[5,4] row\n    in %k: i32[3,4] row\n    out %y: f32[3,4] row\n",
      "    axes i=3, j=4\n    %r[i,j] = copy %k[i,j] : i32\n    %y[i,j] = copy %x[%r[i,j],j] : f32\n");
  auto checked = check(
      kernel,
      {"mlx", "out0 = mx.take_along_axis(in0, mx.multiply(in1, 1000000), axis=0)\n"},
      *find_target("cpu.avx2"));
  ASSERT_TRUE(checked) << format(checked.errors());
  const auto x = Tensor::of(
      {Dtype::f32, {5, 4}}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  const auto k = Tensor::of({Dtype::i32, {3, 4}}, {1, -1, 0, 2, -2, -3, 1, 1, 0, 0, 0, -7});
  const auto text = print(*checked->graph);
  EXPECT_NE(text.find("minimum"), std::string::npos) << text;
  EXPECT_NE(text.find("maximum"), std::string::npos) << text;
  auto y = run_reference(*checked->graph, {x, k}, Precision::exact);
  ASSERT_TRUE(y) << format(y.errors());
  EXPECT_EQ((*y)[0].values(), (Values{16, 1, 2, 19, 0, 1, 18, 19, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace autoperfect

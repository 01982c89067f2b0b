// The language `mlx`: each function that its prompt names can be called by some draft.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "check/check.h"
#include "generate/language/vocabulary.h"
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

}  // namespace
}  // namespace autoperfect

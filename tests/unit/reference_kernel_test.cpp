// The executor of KernelIR: index maps, reductions, several outputs, dynamic sizes and both precisions.
#include <gtest/gtest.h>

#include "reference_kernels.h"

namespace autoperfect {
namespace {

TEST(ReferenceKernel, IndexMapsAndSeveralOutputs) {
  const Kernel kernel = parsed(
      "    in %x: f32[2,6] row\n    out %y: f32[3,2] row\n    out %total: f32[2,1] row\n    out %where: "
      "u32[3] row\n",
      "    axes i=2, j=3\n"
      "    %scaled[i,j] = mul %x[i,2*j+1], 10.0 : f32\n"
      "    %y[j,i] = sub %scaled[i,j], %x[0,-1*j+2] : f32\n"
      "    %total[i,0] = sum(j) %scaled[i,j] : f32\n"
      "    %where[j] = argmax(i) %scaled[i,j] : u32\n");
  const auto out = run(kernel, {f32({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1})});
  EXPECT_EQ(out[0], (Values{10 - 2, 70 - 2, 30 - 1, 90 - 1, 50 - 0, 10 - 0}));
  EXPECT_EQ(out[1], (Values{90, 170}));
  EXPECT_EQ(out[2], (Values{1, 1, 0}));
}

TEST(ReferenceKernel, IotaAndLiteralsTakeTheDtypeOfTheOp) {
  const Kernel kernel = parsed(
      "    in %x: bf16[3] row\n    out %y: bf16[3] row\n    out %z: i32[3] row\n",
      "    axes i=3\n"
      "    %y[i] = add %x[i], 0.1 : bf16\n"
      "    %z[i] = mul iota i, 7 : i32\n");
  const auto out = run(kernel, {Tensor::of({Dtype::bf16, {3}}, {0, 1, -1})});
  EXPECT_EQ(out[0], (Values{0.10009765625, 1.1015625, -0.8984375}));
  EXPECT_EQ(out[1], (Values{0, 7, 14}));
}

TEST(ReferenceKernel, SumsAccumulateAsStated) {
  const std::string abi = "    in %x: f32[3] row\n    out %y: f32[] row\n";
  const std::string math = "    axes i=3\n    %y[] = sum(i) %x[i] : f32\n";
  const Tensor x = f32({3}, {16777216, 1, 1});
  EXPECT_EQ(run(parsed(abi, math), {x})[0], Values{16777216});
  EXPECT_EQ(run(parsed(abi, math, "f64"), {x})[0], Values{16777218});
  EXPECT_EQ(run(parsed(abi, math), {x}, Precision::oracle)[0], Values{16777218});
}

TEST(ReferenceKernel, DynamicAxesTakeTheSizeOfTheInput) {
  Kernel kernel = parsed(
      "    in %x: f32[2,2] row\n    out %y: f32[2] row\n",
      "    axes i=2, j=2\n    %y[i] = sum(j) %x[i,j] : f32\n");
  kernel.axes[0].dynamic = true;
  kernel.buffers[0].dynamic_dims = {0, -1};
  kernel.buffers[1].dynamic_dims = {0};
  EXPECT_EQ(run(kernel, {f32({3, 2}, {1, 2, 3, 4, 5, 6})})[0], (Values{3, 7, 11}));
  EXPECT_EQ(run(kernel, {f32({0, 2}, {})})[0], Values{});
  EXPECT_EQ(
      run_reference(kernel, {f32({2, 3}, {1, 2, 3, 4, 5, 6})}, Precision::exact).errors()[0].code,
      "input-type");
}

TEST(ReferenceKernel, OracleKeepsDoubles) {
  const Kernel kernel = parsed(
      "    in %x: f16[1] row\n    out %y: f16[1] row\n    out %k: i32[1] row\n",
      "    axes i=1\n"
      "    %part[i] = div %x[i], 11.0 : f16\n"
      "    %y[i] = mul %part[i], 11.0 : f16\n"
      "    %k[i] = cast %y[i] : i32\n");
  const Tensor one = Tensor::of({Dtype::f16, {1}}, {1});
  const auto oracle = run_reference(kernel, {one}, Precision::oracle).value();
  EXPECT_EQ(oracle[0].type.dtype, Dtype::f64);
  EXPECT_EQ(oracle[0].at(0), 1.0 / 11 * 11);
  EXPECT_EQ(oracle[1].type.dtype, Dtype::i32);
  EXPECT_EQ(run(kernel, {one})[0], Values{0.99951171875});
  EXPECT_EQ(run(kernel, {one})[1], Values{0});
}

TEST(ReferenceKernel, StaysInsideItsBuffers) {
  Kernel kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[3] row\n", "    axes i=3\n    %y[i] = exp %x[i+1] : f32\n");
  kernel.values[0].operands[0].index[0].offset = 2;
  const auto result = run_reference(kernel, {f32({4}, {1, 2, 3, 4})}, Precision::exact);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.errors()[0].code, "index-out-of-range");
}

}  // namespace
}  // namespace autoperfect

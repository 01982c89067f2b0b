// What the forms of KernelIR beyond index maps mean, on tensors computed by hand: guards, gathers,
// contractions, scans and outputs stored in parts.
#include <gtest/gtest.h>

#include <cmath>

#include "reference_kernels.h"

namespace autoperfect {
namespace {

constexpr double inf = HUGE_VAL;

TEST(ReferenceKernelForms, AGuardedLoadIsItsLiteralOutside) {
  const Kernel kernel = parsed(
      "    in %x: f32[2,3] row\n    out %y: f32[2,5] row\n    out %z: f32[3,2] row\n",
      "    axes i=2, j=5, k=3\n"
      "    %y[i,j] = copy %x[i,j-1] else 0.5 : f32\n"
      "    %z[k,i] = copy %x[2*k-1,-2*i+2] else -inf : f32\n");
  const auto out = run(kernel, {f32({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(out[0], (Values{0.5, 1, 2, 3, 0.5, 0.5, 4, 5, 6, 0.5}));
  EXPECT_EQ(out[1], (Values{-inf, -inf, 6, 4, -inf, -inf}));
}

TEST(ReferenceKernelForms, AGatherCountsNegativeIndicesFromTheEndAndClamps) {
  const std::string math =
      "    axes i=6, j=2\n    %id[i] = copy %at[i] : i32\n    %y[i,j] = copy %table[%id[i],-j+1] : f32\n";
  const Kernel kernel =
      parsed("    in %table: f32[3,2] row\n    in %at: i32[6] row\n    out %y: f32[6,2] row\n", math);
  const Tensor table = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto out = run(kernel, {table, Tensor::of({Dtype::i32, {6}}, {2, 0, -1, -3, 3, -4})});
  EXPECT_EQ(out[0], (Values{6, 5, 2, 1, 6, 5, 2, 1, 6, 5, 2, 1}));
}

TEST(ReferenceKernelForms, UnsignedIndicesBeyondTheBufferAreItsLast) {
  const Kernel kernel = parsed(
      "    in %x: f32[3] row\n    in %at: u64[2] row\n    out %y: f32[2] row\n",
      "    axes i=2\n    %id[i] = copy %at[i] : u64\n    %y[i] = copy %x[%id[i]] : f32\n");
  Tensor at = Tensor::zeros({Dtype::u64, {2}});
  at.set_integer(0, -1);
  at.set_integer(1, 1);
  EXPECT_EQ(run(kernel, {f32({3}, {1, 2, 3}), at})[0], (Values{3, 2}));
}

TEST(ReferenceKernelForms, TwoGatheredDimensionsAndAGuardedOne) {
  const Kernel kernel = parsed(
      "    in %x: i32[2,2,2] row\n    in %a: i32[2] row\n    in %b: u8[3] row\n    out %y: i32[2,3] row\n",
      "    axes i=2, j=3\n"
      "    %ai[i] = copy %a[i] : i32\n    %bj[j] = copy %b[j] : u8\n"
      "    %y[i,j] = add %x[%ai[i],i+j-1,%bj[j]] else 40, 100 : i32\n");
  const auto out =
      run(kernel,
          {Tensor::of({Dtype::i32, {2, 2, 2}}, {0, 1, 2, 3, 4, 5, 6, 7}),
           Tensor::of({Dtype::i32, {2}}, {-1, 0}),
           Tensor::of({Dtype::u8, {3}}, {1, 0, 1})});
  // i=0: x[1, j-1, b[j]]; i=1: x[0, j, b[j]]
  EXPECT_EQ(out[0], (Values{140, 104, 107, 101, 102, 140}));
}

TEST(ReferenceKernelForms, AContractionWithABatchAxisAndTwoReducedOnes) {
  const Kernel kernel = parsed(
      "    in %a: f32[2,2,3] row\n    in %b: f32[2,3,2] row\n    out %c: f32[2,2,2] row\n    out %d: f32[2] "
      "row\n",
      "    axes n=2, i=2, j=2, k=3\n"
      "    %c[n,i,j] = matmul(k) %a[n,i,k], %b[n,k,j] : f32\n"
      "    %d[n] = matmul(i,k) %a[n,i,k], %b[n,k,1] : f32\n");
  const auto out =
      run(kernel,
          {f32({2, 2, 3}, {1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 0, -1}),
           f32({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})});
  EXPECT_EQ(out[0], (Values{22, 28, 49, 64, 7, 8, -11, -12}));
  EXPECT_EQ(out[1], (Values{92, -4}));
}

TEST(ReferenceKernelForms, ContractionsRoundNoProductAndAccumulateAsStated) {
  const std::string abi = "    in %a: bf16[3] row\n    in %b: bf16[3] row\n    out %c: bf16[] row\n";
  const std::string math = "    axes k=3\n    %c[] = matmul(k) %a[k], %b[k] : bf16\n";
  // 1.0078125^2 = 1.01568603515625, of which a bf16 keeps 1.015625; the difference is what is left here.
  const double near = 1.0078125;
  const Tensor a = Tensor::of({Dtype::bf16, {3}}, {near, -1, 0}),
               b = Tensor::of({Dtype::bf16, {3}}, {near, 1.015625, 1});
  EXPECT_EQ(run(parsed(abi, math), {a, b})[0], Values{0.00006103515625});
  const std::string abi32 = "    in %a: f32[3] row\n    in %b: f32[3] row\n    out %c: f32[] row\n";
  const std::string math32 = "    axes k=3\n    %c[] = matmul(k) %a[k], %b[k] : f32\n";
  const Tensor a32 = f32({3}, {16777216, 1, 1}), b32 = f32({3}, {1, 1, 1});
  EXPECT_EQ(run(parsed(abi32, math32), {a32, b32})[0], Values{16777216});
  EXPECT_EQ(run(parsed(abi32, math32, "f64"), {a32, b32})[0], Values{16777218});
  EXPECT_EQ(run(parsed(abi32, math32), {a32, b32}, Precision::oracle)[0], Values{16777218});
}

TEST(ReferenceKernelForms, AContractionOverNothingIsZero) {
  const Kernel kernel = parsed(
      "    in %a: f32[2,0] row\n    out %c: f32[2] row\n",
      "    axes i=2, k=0\n    %c[i] = matmul(k) %a[i,k], 1.0 : f32\n");
  EXPECT_EQ(run(kernel, {f32({2, 0}, {})})[0], (Values{0, 0}));
}

Values scanned(const std::string& op, Dtype dtype, const Values& x, Dtype result) {
  const std::string n = std::to_string(x.size()), from(name(dtype)), to(name(result));
  const auto paren = op.find(' ');
  const Kernel kernel = parsed(
      "    in %x: " + from + "[" + n + "] row\n    out %y: " + to + "[" + n + "] row\n",
      "    axes j=" + n + "\n    %y[j] = " + op.substr(0, paren) + "(j) %x[j]" +
          (paren == std::string::npos ? "" : op.substr(paren)) + " : " + to + "\n");
  return run(kernel, {Tensor::of({dtype, {static_cast<int64_t>(x.size())}}, x)})[0];
}
Values scanned(const std::string& op, const Values& x, Dtype dtype = Dtype::f32) {
  return scanned(op, dtype, x, dtype);
}

TEST(ReferenceKernelForms, Scans) {
  EXPECT_EQ(scanned("cumsum", {1, 2, 3, 4}), (Values{1, 3, 6, 10}));
  EXPECT_EQ(scanned("cumsum inclusive=false", {1, 2, 3, 4}), (Values{0, 1, 3, 6}));
  EXPECT_EQ(scanned("cumsum reverse=true", {1, 2, 3, 4}), (Values{10, 9, 7, 4}));
  EXPECT_EQ(scanned("cumsum inclusive=false reverse=true", {1, 2, 3, 4}), (Values{9, 7, 4, 0}));
  EXPECT_EQ(scanned("cumprod", {2, 3, -1, 4}), (Values{2, 6, -6, -24}));
  EXPECT_EQ(scanned("cummax inclusive=false", {2, 1, 5, 4}), (Values{-inf, 2, 2, 5}));
  EXPECT_EQ(scanned("cummin reverse=true", {2, 1, 5, 4}), (Values{1, 1, 4, 4}));
  EXPECT_EQ(scanned("logcumsumexp inclusive=false", {0, 0}), (Values{-inf, 0}));
  EXPECT_EQ(scanned("cumsum", {1}), Values{1});
}

TEST(ReferenceKernelForms, ScansRoundEachStepToTheirDtype) {
  EXPECT_EQ(scanned("cumsum", {256, 1, 1}, Dtype::bf16), (Values{256, 256, 256}));
  EXPECT_EQ(scanned("cumsum", {16777216, 1, 1}), (Values{16777216, 16777216, 16777216}));
  EXPECT_EQ(scanned("cumprod", {100, 2}, Dtype::i8), (Values{100, -56}));
  EXPECT_EQ(scanned("cummax inclusive=false", {3, 7}, Dtype::i8), (Values{-128, 3}));
  EXPECT_EQ(scanned("cummin inclusive=false", {3, 7}, Dtype::u8), (Values{255, 3}));
  EXPECT_EQ(scanned("cumsum", Dtype::bool_, {1, 1, 0, 1}, Dtype::i32), (Values{1, 2, 2, 3}));
  EXPECT_EQ(scanned("cumprod", {1, 1, 0, 1}, Dtype::bool_), (Values{1, 1, 0, 0}));
}

TEST(ReferenceKernelForms, ScansCarryNaN) {
  for (const char* op : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}) {
    const auto out = scanned(op, {1, NAN, 2});
    EXPECT_EQ(out[0], 1) << op;
    EXPECT_TRUE(std::isnan(out[1]) && std::isnan(out[2])) << op;
  }
}

TEST(ReferenceKernelForms, AScanAlongAMiddleAxis) {
  const Kernel kernel = parsed(
      "    in %x: f32[2,2,2] row\n    out %y: f32[2,2,2] row\n",
      "    axes i=2, j=2, k=2\n    %y[i,j,k] = cumsum(j) %x[k,j,i] : f32\n");
  EXPECT_EQ(run(kernel, {f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})})[0], (Values{0, 4, 2, 10, 1, 5, 4, 12}));
}

TEST(ReferenceKernelForms, OutputsStoredInParts) {
  const Kernel kernel = parsed(
      "    in %x: f32[2,2] row\n    in %w: f32[2] row\n    out %y: f32[2,5] row\n    out %z: f32[8] row\n",
      "    axes i=2, j=2\n"
      "    %y[i,j] = copy %x[i,j] : f32\n"
      "    %y[i,2] = copy %w[i] : f32\n"
      "    %y[i,-j+4] = neg %x[i,j] : f32\n"
      "    %z[4*i+2*j] = copy %x[i,j] : f32\n"
      "    %z[4*i+2*j+1] = mul %x[i,j], 10.0 : f32\n");
  const auto out = run(kernel, {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {7, 8})});
  EXPECT_EQ(out[0], (Values{1, 2, 7, -2, -1, 3, 4, 8, -4, -3}));
  EXPECT_EQ(out[1], (Values{1, 10, 2, 20, 3, 30, 4, 40}));
}

TEST(ReferenceKernelForms, MergedAndSplitDimensions) {
  const Kernel kernel = parsed(
      "    in %x: f32[6] row\n    out %y: f32[3,2] row\n    out %z: f32[6] row\n",
      "    axes i=2, j=3\n    %y[j,i] = copy %x[3*i+j] : f32\n    %z[i+2*j] = copy %x[3*i+j] : f32\n");
  const auto out = run(kernel, {f32({6}, {0, 1, 2, 3, 4, 5})});
  EXPECT_EQ(out[0], (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(out[1], (Values{0, 3, 1, 4, 2, 5}));
}

TEST(ReferenceKernelForms, ADynamicAxisTakesEverySize) {
  const Kernel kernel = parsed(
      "    in %x: f32[?i,2] row\n    in %at: i32[?i] row\n    in %t: f32[2,2] row\n    out %y: f32[?i,4] "
      "row\n",
      "    axes i=?5, j=2, k=2\n    %id[i] = copy %at[i] : i32\n"
      "    %y[i,j] = matmul(k) %x[i,k], %t[%id[i],k] : f32\n"
      "    %y[i,j+2] = cumsum(j) %x[i,j-1] else 1.0 : f32\n");
  const std::vector<Tensor> inputs = {
      f32({1, 2}, {3, 5}), Tensor::of({Dtype::i32, {1}}, {-1}), f32({2, 2}, {1, 2, 10, 20})};
  EXPECT_EQ(run(kernel, inputs)[0], (Values{130, 130, 1, 4}));
  const Kernel one = with_dynamic_size(kernel, 1);
  EXPECT_EQ(verify(one).size(), 0u);
  EXPECT_EQ(one.buffers[3].type.shape, (Shape{1, 4}));
  EXPECT_EQ(signature(one), signature(kernel));
  EXPECT_EQ(run(one, inputs), run(kernel, inputs));
  const Kernel none = with_dynamic_size(kernel, 0);
  EXPECT_EQ(verify(none).size(), 0u);
  EXPECT_EQ(run(none, {f32({0, 2}, {}), Tensor::of({Dtype::i32, {0}}, {}), inputs[2]})[0], Values{});
}

}  // namespace
}  // namespace autoperfect

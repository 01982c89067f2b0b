// The reference executor on KernelIR's contractions, scans, gathers and guards against MLX eager on the CPU.
#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <cmath>
#include <random>

#include "capture/capture.h"
#include "ir/kernel_text.h"
#include "kernel_parts.h"
#include "lower/lower.h"
#include "pipeline/region_runner.h"
#include "random_kernel.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

Kernel parsed(const std::string& abi, const std::string& math) {
  return parse_or_throw(kernel_text(abi, math, "    accumulate f32\n"));
}

class ReferenceFormsMlx : public testing::Test {
 protected:
  void SetUp() override { mx::set_default_device(mx::Device::cpu); }

  Tensor random(const TensorType& type, double scale = 1) {
    Tensor tensor = Tensor::zeros(type);
    for (int64_t i = 0; i < type.elements(); ++i)
      tensor.set(i, scale * std::normal_distribution<double>()(random_));
    return tensor;
  }

  Tensor indices(const Shape& shape, int64_t size) {
    Tensor tensor = Tensor::zeros({Dtype::i32, shape});
    for (int64_t i = 0; i < tensor.type.elements(); ++i)
      tensor.set_integer(i, static_cast<int64_t>(random_() % static_cast<uint64_t>(2 * size)) - size);
    return tensor;
  }

  // Equal, or within `relative` of the largest element.
  static void expect_close(
      const Tensor& ours, const mx::array& eager, double relative, const std::string& what) {
    const Tensor theirs = to_tensor(eager);
    ASSERT_EQ(ours.type, theirs.type) << what;
    double largest = 0;
    for (double x : theirs.values())
      largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
    for (int64_t i = 0; i < ours.type.elements(); ++i) {
      const double a = ours.at(i), b = theirs.at(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      ASSERT_LE(std::fabs(a - b), relative * largest)
          << what << " at " << i << ": ours " << a << ", MLX " << b;
    }
  }

  std::mt19937_64 random_{5};
};

TEST_F(ReferenceFormsMlx, Contractions) {
  for (auto [dtype, relative] : {std::pair{Dtype::f32, 1e-5}, {Dtype::bf16, 8e-3}, {Dtype::f16, 1e-3}}) {
    const std::string d(name(dtype));
    const Kernel kernel = parsed(
        "    in %a: " + d + "[3,5,40] row\n    in %b: " + d + "[3,40,7] row\n    out %c: " + d +
            "[3,5,7] row\n",
        "    axes n=3, i=5, j=7, k=40\n    %c[n,i,j] = matmul(k) %a[n,i,k], %b[n,k,j] : " + d + "\n");
    const std::vector<Tensor> in = {random({dtype, {3, 5, 40}}), random({dtype, {3, 40, 7}})};
    const auto ours = run_reference(kernel, in, Precision::exact).value();
    expect_close(ours[0], mx::matmul(to_array(in[0]), to_array(in[1])), relative, d);
  }
}

TEST_F(ReferenceFormsMlx, ScansBitForBit) {
  using Scan = mx::array (*)(const mx::array&, int, bool, bool, mx::StreamOrDevice);
  const std::pair<const char*, Scan> scans[] = {
      {"cumsum", mx::cumsum},
      {"cumprod", mx::cumprod},
      {"cummax", mx::cummax},
      {"cummin", mx::cummin},
      {"logcumsumexp", mx::logcumsumexp}};
  for (auto dtype :
       {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::i8, Dtype::u16, Dtype::i32, Dtype::i64, Dtype::bool_}) {
    for (const auto& [op, eager] : scans) {
      const bool is_log = std::string(op) == "logcumsumexp";
      if (is_log && !is_floating(dtype)) continue;
      for (int flags = 0; flags < 8; ++flags) {
        const bool reverse = flags & 1, inclusive = flags & 2, rows = flags & 4;
        const Dtype result = std::string(op) == "cumsum" && dtype == Dtype::bool_ ? Dtype::i32 : dtype;
        const std::string what = fmt::format(
            "{}({}) %x[i,j] inclusive={} reverse={} : {}",
            op,
            rows ? "j" : "i",
            inclusive,
            reverse,
            name(result));
        const Kernel kernel = parsed(
            fmt::format("    in %x: {}[9,17] row\n    out %y: {}[9,17] row\n", name(dtype), name(result)),
            "    axes i=9, j=17\n    %y[i,j] = " + what + "\n");
        Tensor x = random({dtype, {9, 17}}, is_floating(dtype) ? 1 : 3);
        if (is_floating(dtype)) x.set(40, flags % 3 ? NAN : -HUGE_VAL);
        const auto ours = run_reference(kernel, {x}, Precision::exact).value();
        // MLX's own exp and log1p are a few ulp off, and each step of a half rounds.
        const double relative = !is_log ? 0 : dtype == Dtype::f32 ? 1e-6 : dtype == Dtype::f16 ? 4e-3 : 3e-2;
        expect_close(ours[0], eager(to_array(x), rows ? 1 : 0, reverse, inclusive, {}), relative, what);
      }
    }
  }
}

TEST_F(ReferenceFormsMlx, GathersAndPads) {
  const Tensor table = random({Dtype::f32, {6, 4}}), at = indices({5}, 6), along = indices({3, 4}, 6);
  const Kernel take = parsed(
      "    in %t: f32[6,4] row\n    in %at: i32[5] row\n    out %y: f32[5,4] row\n",
      "    axes i=5, j=4\n    %id[i] = copy %at[i] : i32\n    %y[i,j] = copy %t[%id[i],j] : f32\n");
  expect_close(
      run_reference(take, {table, at}, Precision::exact).value()[0],
      mx::take(to_array(table), to_array(at), 0),
      0,
      "take");
  const Kernel take_along = parsed(
      "    in %t: f32[6,4] row\n    in %at: i32[3,4] row\n    out %y: f32[3,4] row\n",
      "    axes i=3, j=4\n    %id[i,j] = copy %at[i,j] : i32\n    %y[i,j] = copy %t[%id[i,j],j] : f32\n");
  expect_close(
      run_reference(take_along, {table, along}, Precision::exact).value()[0],
      mx::take_along_axis(to_array(table), to_array(along), 0),
      0,
      "take_along_axis");
  const Kernel pad = parsed(
      "    in %t: f32[6,4] row\n    out %y: f32[9,5] row\n",
      "    axes i=9, j=5\n    %y[i,j] = copy %t[i-2,j-1] else 0.5 : f32\n");
  expect_close(
      run_reference(pad, {table}, Precision::exact).value()[0],
      mx::pad(to_array(table), {{2, 1}, {1, 0}}, mx::array(0.5f)),
      0,
      "pad");
}

// The fallback: the raised graph of a random kernel, run by MLX itself.
TEST_F(ReferenceFormsMlx, RaisedKernelsRunInMlx) {
  for (unsigned seed = 0; seed < 150 && !HasFailure(); ++seed) {
    const std::string text = RandomKernel(seed).text();
    const Kernel kernel = parse_kernel(text).value();
    std::vector<Tensor> in;
    Arrays arrays;
    for (const auto& buffer : kernel.buffers) {
      if (buffer.role != BufferRole::in) continue;
      in.push_back(is_floating(buffer.type.dtype) ? random(buffer.type) : Tensor::zeros(buffer.type));
      for (int64_t i = 0; is_integer(buffer.type.dtype) && i < buffer.type.elements(); ++i)
        in.back().set_integer(i, static_cast<int64_t>(random_() % 9));
      arrays.push_back(to_array(in.back()));
    }
    const auto oracle = run_reference(kernel, in, Precision::exact).value();
    const Graph graph = raise(kernel);
    const auto eager = interpret(graph, arrays);
    for (size_t i = 0; i < oracle.size(); ++i) {
      const double relative = oracle[i].type.dtype == Dtype::f32 ? 1e-4 : 0.1;
      expect_close(oracle[i], eager[i], relative, fmt::format("seed {}\n{}", seed, text));
    }
  }
}

}  // namespace
}  // namespace autoperfect

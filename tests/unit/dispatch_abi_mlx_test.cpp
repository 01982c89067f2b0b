// Inputs as they lie, donated memory and temporaries, with hand-made kernel functions that look at their
// pointers.
#include <gtest/gtest.h>

#include <cstring>

#include "dispatch/dispatch.h"
#include "dispatch/input_layout.h"
#include "ir/kernel_text.h"
#include "kernel_parts.h"
#include "lower/lower.h"
#include "mlx/mlx.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using mx::array;

int dense_runs = 0, strided_runs = 0;
const void* seen_input = nullptr;
long seen_stride = 0;
bool in_place = false;

std::shared_ptr<Executable> executable_of(const std::string& buffers, LoadedKernel::Kernel function) {
  const auto kernel = parse_or_throw(kernel_text(
      buffers, "    axes i=?3, j=4\n    %y[i,j] = mul %x[i,j], 2.0 : f32\n", "    accumulate f32\n"));
  auto executable = std::make_shared<Executable>();
  executable->kernel = kernel;
  executable->fallback = raise(kernel);
  executable->loaded = std::make_shared<LoadedKernel>();
  executable->loaded->kernel = function;
  executable->loaded->launch.parallel = {0};
  return executable;
}

void strided_kernel(
    const void* const* in, void* const* out, void*, void*, const long* dims, long begin, long end) {
  ++strided_runs;
  seen_input = in[0];
  seen_stride = dims[1];
  auto* x = static_cast<const float*>(in[0]);
  auto* y = static_cast<float*>(out[0]);
  for (long i = begin; i < end; ++i)
    for (long j = 0; j < 4; ++j)
      y[i * 4 + j] = 2 * x[i * dims[1] + j];
}

void dense_kernel(const void* const* in, void* const* out, void*, void*, const long*, long begin, long end) {
  ++dense_runs;
  in_place = in[0] == out[0];
  auto* x = static_cast<const float*>(in[0]);
  auto* y = static_cast<float*>(out[0]);
  for (long e = 4 * begin; e < 4 * end; ++e)
    y[e] = 2 * x[e];
}

std::shared_ptr<Executable> dense() {
  return executable_of("    in %x: f32[?i,4] row\n    out %y: f32[?i,4] row alias=%x\n", dense_kernel);
}

std::shared_ptr<Executable> strided() {
  return executable_of("    in %x: f32[?i,4] strides=[?,1]\n    out %y: f32[?i,4] row\n", strided_kernel);
}

array numbers(int rows, int columns) {
  auto all = mx::reshape(mx::arange(0.0f, static_cast<float>(rows * columns), 1.0f), {rows, columns});
  mx::eval(all);
  return all;
}

void expect_doubled(const array& result, const array& x) {
  ASSERT_EQ(result.shape(), x.shape());
  EXPECT_TRUE(mx::array_equal(result, x * array(2.0f)).item<bool>());
}

class DispatchAbi : public testing::Test {
 protected:
  void SetUp() override { dense_runs = strided_runs = 0; }
};

TEST_F(DispatchAbi, TellsHowArraysLie) {
  auto wide = numbers(5, 16);
  EXPECT_EQ(layout_of(wide), Layout{});
  auto slice = mx::slice(wide, {0, 3}, {5, 7});
  auto turned = mx::transpose(wide);
  auto spread = mx::broadcast_to(numbers(1, 4), {3, 4});
  auto backwards = mx::slice(numbers(3, 4), {2, 0}, {-4, 4}, {-1, 1});
  mx::eval(slice, turned, spread, backwards);
  EXPECT_EQ(layout_of(slice), (Layout{{free_stride, 1}, 0, 0}));
  EXPECT_EQ(layout_of(turned), (Layout{{1, free_stride}, 0, 0}));
  EXPECT_EQ(layout_of(spread), (Layout{{0, 1}, 0, 0}));
  EXPECT_EQ(layout_of(backwards), (Layout{{-4, 1}, 8, 0}));
}

TEST_F(DispatchAbi, AnInputThatLiesRightIsNotCopied) {
  auto executable = strided();
  auto x = mx::slice(numbers(5, 16), {0, 3}, {5, 7});
  mx::eval(x);
  expect_doubled(dispatch(executable, {x})[0], x);
  EXPECT_GT(strided_runs, 0);
  EXPECT_EQ(seen_input, x.data<float>());
  EXPECT_EQ(seen_stride, 16);
  auto other = numbers(7, 4);
  expect_doubled(dispatch(executable, {other})[0], other);
  EXPECT_EQ(seen_stride, 4);
}

TEST_F(DispatchAbi, WhatLiesOtherwiseRunsOtherwise) {
  auto executable = strided();
  auto turned = mx::transpose(numbers(4, 6));
  mx::eval(turned);
  expect_doubled(dispatch(executable, {turned})[0], turned);  // MLX's own operations
  EXPECT_EQ(strided_runs + dense_runs, 0);
  executable->otherwise = dense();
  expect_doubled(dispatch(executable, {turned})[0], turned);
  EXPECT_EQ(strided_runs, 0);
  EXPECT_GT(dense_runs, 0);
  auto slice = mx::slice(numbers(5, 16), {0, 3}, {5, 7});
  mx::eval(slice);
  expect_doubled(dispatch(executable, {slice})[0], slice);
  EXPECT_GT(strided_runs, 0);
}

// How a lazy input will lie is not known yet.
TEST_F(DispatchAbi, LazyInputsAreLookedAtWhenTheyAreThere) {
  auto executable = strided();
  auto lazy = mx::transpose(numbers(4, 6));
  expect_doubled(dispatch(executable, {lazy})[0], mx::transpose(numbers(4, 6)));
  EXPECT_EQ(strided_runs, 0);
  executable->otherwise = dense();
  auto again = mx::transpose(numbers(4, 6));
  expect_doubled(dispatch(executable, {again})[0], mx::transpose(numbers(4, 6)));
  EXPECT_EQ(strided_runs, 0);
  EXPECT_GT(dense_runs, 0);
  auto sliced = mx::slice(numbers(5, 16), {0, 3}, {5, 7});
  expect_doubled(dispatch(executable, {sliced})[0], mx::slice(numbers(5, 16), {0, 3}, {5, 7}));
  EXPECT_GT(strided_runs, 0);
}

TEST_F(DispatchAbi, AnOutputTakesMemoryThatNobodyElseNeeds) {
  auto executable = dense();
  auto kept = numbers(50, 4);
  auto result = dispatch(executable, {kept})[0];
  mx::eval(result);
  EXPECT_FALSE(in_place);
  expect_doubled(result, kept);
  expect_doubled(result, numbers(50, 4));
  // Nobody but the graph holds the sum.
  auto second = dispatch(executable, {kept + array(1.0f)})[0];
  mx::eval(second);
  EXPECT_TRUE(in_place);
  expect_doubled(second, kept + array(1.0f));
}

TEST_F(DispatchAbi, AnInputGivenTwiceOrSeenAsAViewIsNotTaken) {
  auto executable = dense();
  auto sum = numbers(50, 4) + array(1.0f);
  auto view = mx::slice(sum, {0, 0}, {10, 4});
  auto result = dispatch(executable, {sum})[0];
  mx::eval(result, view);
  EXPECT_FALSE(in_place);
  EXPECT_TRUE(mx::array_equal(view, mx::slice(numbers(50, 4) + array(1.0f), {0, 0}, {10, 4})).item<bool>());
}

void with_temporary(
    const void* const* in, void* const* out, void*, void*, const long* dims, long begin, long end) {
  auto* x = static_cast<const float*>(in[0]);
  auto* y = static_cast<float*>(out[0]);
  auto* t = static_cast<float*>(out[1]);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t) % 256, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(out[2]) % 64, 0u);
  if (begin == 0) std::memset(out[2], 1, static_cast<size_t>(dims[0]) * 8);
  for (long e = 4 * begin; e < 4 * end; ++e)
    t[e] = 2 * x[e];
  for (long e = 4 * begin; e < 4 * end; ++e)
    y[e] = t[e];
}

TEST_F(DispatchAbi, TemporariesAreAllocatedForEachLaunch) {
  auto executable = executable_of(
      "    in %x: f32[?i,4] row\n    out %y: f32[?i,4] row\n    temp %t: f32[?i,4] row align=256\n"
      "    temp %u: f64[?i] row\n",
      with_temporary);
  for (int rows : {1, 7, 5000}) {
    auto x = numbers(rows, 4);
    expect_doubled(dispatch(executable, {x})[0], x);
  }
}

}  // namespace
}  // namespace autoperfect

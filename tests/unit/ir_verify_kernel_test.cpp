// Each invariant of verify_kernel.cpp, broken on purpose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

// Values: 0 %t[i] = sum(j), 1 %m[i] = mul, 2 %y[i,j] = sub (stored). Buffers: 0 %x, 1 %y. Axes: i dynamic, j.
Kernel good_kernel() {
  return *parse_kernel(
      "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[?i,8] row\n    out %y: f32[?i,8] row\n  "
      "}\n  math {\n"
      "    axes i=?4, j=8\n    %t[i] = sum(j) %x[i,j] : f32\n    %m[i] = mul %t[i], 0.125 : f32\n"
      "    %y[i,j] = sub %x[i,j], %m[i] : f32\n  }\n  numerics {\n    accumulate f32\n  }\n}\n");
}

using Codes = std::vector<std::string>;

Codes after(const std::function<void(Kernel&)>& change) {
  auto kernel = good_kernel();
  change(kernel);
  Codes found;
  for (const auto& diagnostic : verify(kernel))
    found.push_back(diagnostic.code);
  return found;
}

TEST(VerifyKernel, AcceptsAGoodKernel) {
  EXPECT_EQ(after([](Kernel&) {}), Codes{});
}

TEST(VerifyKernel, Axes) {
  EXPECT_EQ(after([](Kernel& k) { k.axes[1].name = "i"; }), Codes{"duplicate-name"});
  EXPECT_EQ(after([](Kernel& k) { k.axes[1].name = "iota"; }), Codes{"bad-name"});
  EXPECT_EQ(after([](Kernel& k) { k.axes[1].size = -1; }), Codes{"bad-size"});
  EXPECT_EQ(after([](Kernel& k) { k.axes[1].size = INT64_MAX; }), Codes{"bad-size"});
  EXPECT_EQ(after([](Kernel& k) { k.axes.resize(65, Axis{"a", 1, false, {}}); })[0], "too-many-axes");
  EXPECT_EQ(after([](Kernel& k) { k.name = "a b"; }), Codes{"bad-name"});
  // A dynamic axis must be the size of every dimension it indexes, and nothing else may.
  EXPECT_EQ(after([](Kernel& k) { k.axes[1].dynamic = true; })[0], "dynamic-index");
}

TEST(VerifyKernel, Buffers) {
  EXPECT_EQ(after([](Kernel& k) { k.buffers[0].name = k.values[0].name; }), Codes{"duplicate-name"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.buffers.push_back(k.buffers[0]);
        k.buffers[2].name = "z";
      }),
      Codes{"buffer-order"});
  EXPECT_EQ(after([](Kernel& k) { k.buffers[0].dynamic_dims.pop_back(); })[0], "dynamic-dimension");
  EXPECT_EQ(after([](Kernel& k) { k.buffers[0].dynamic_dims[1] = 1; })[0], "dynamic-dimension");
  EXPECT_EQ(after([](Kernel& k) { k.buffers[0].dynamic_dims[1] = 9; })[0], "dynamic-dimension");
  EXPECT_EQ(after([](Kernel& k) { k.buffers[0].type.shape[0] = 5; })[0], "dynamic-dimension");
  EXPECT_EQ(after([](Kernel& k) { k.buffers[1].type.shape[1] = INT64_MAX; })[0], "shape-too-large");
}

TEST(VerifyKernel, Ops) {
  EXPECT_EQ(after([](Kernel& k) { k.values[1].op = Op::concatenate; }), Codes{"op-not-allowed"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].op = Op::exp; }), Codes{"arity"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].attributes.set("a", true); }), Codes{"unknown-attribute"});
}

TEST(VerifyKernel, AxesOfValues) {
  EXPECT_EQ(after([](Kernel& k) { k.values[2].axes = {1, 0}; }), Codes{"axes-order"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].axes = {0, 0}; }), Codes{"axes-order"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].axes = {7}; })[0], "unknown-axis");
  EXPECT_EQ(after([](Kernel& k) { k.values[0].reduced = {0, 1}; }), Codes{"axes-overlap"});
  EXPECT_EQ(after([](Kernel& k) { k.values[0].reduced = {}; }), Codes{"reduced-axes"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].reduced = {1}; }), Codes{"reduced-axes"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[0].op = Op::argmax;
        k.values[0].axes = {};
        k.values[0].reduced = {0, 1};
      })[0],
      "reduced-axes");
  EXPECT_EQ(
      after([](Kernel& k) { k.axes[0].size = k.axes[1].size = int64_t{1} << 57; }).back(), "shape-too-large");
}

TEST(VerifyKernel, Reductions) {
  auto over_nothing = [](Op op) {
    auto found = after([&](Kernel& k) {
      k.axes[1].size = 0;
      k.values[0].op = op;
    });
    return std::count(found.begin(), found.end(), "empty-reduction");
  };
  EXPECT_EQ(over_nothing(Op::max), 1);
  EXPECT_EQ(over_nothing(Op::argmin), 1);
  EXPECT_EQ(over_nothing(Op::sum), 0);
}

TEST(VerifyKernel, Operands) {
  EXPECT_EQ(after([](Kernel& k) { k.values[1].operands[0].id = 1; }), Codes{"use-before-definition"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].operands[0].id = -1; }), Codes{"use-before-definition"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].axes = {}; }), Codes{"operand-axes"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[1].operands[1] = {KernelOperand::Kind::iota, 1, {}, 0};
      }),
      Codes{"operand-axes"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[1].operands[1] = {KernelOperand::Kind::iota, 5, {}, 0};
      }),
      Codes{"unknown-axis"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[0].operands[0] = {KernelOperand::Kind::literal, -1, {}, 1.0};
      }),
      Codes{"literal-operand"});
}

TEST(VerifyKernel, Loads) {
  auto change_index = [](Affine affine) {
    return after([&](Kernel& k) { k.values[0].operands[0].index[1] = affine; });
  };
  EXPECT_EQ(change_index({7, {{1, -1}}}), Codes{});
  EXPECT_EQ(change_index({1, {{1, 1}}}), Codes{"out-of-bounds"});
  EXPECT_EQ(change_index({-1, {{1, 1}}}), Codes{"out-of-bounds"});
  EXPECT_EQ(change_index({8, {}}), Codes{"out-of-bounds"});
  EXPECT_EQ(change_index({0, {{1, INT64_MIN}}}), Codes{"out-of-bounds"});
  EXPECT_EQ(change_index({0, {{1, 0}}}), Codes{"bad-index"});
  EXPECT_EQ(change_index({0, {{0, 1}}}), Codes{"dynamic-index"});
  EXPECT_EQ(after([](Kernel& k) { k.values[0].operands[0].index[0] = {0, {}}; }), Codes{"dynamic-index"});
  EXPECT_EQ(after([](Kernel& k) { k.values[0].operands[0].index.pop_back(); }), Codes{"rank-mismatch"});
  EXPECT_EQ(after([](Kernel& k) { k.values[0].operands[0].id = 1; }), Codes{"not-an-input"});
}

TEST(VerifyKernel, Dtypes) {
  EXPECT_EQ(after([](Kernel& k) { k.values[0].dtype = Dtype::f16; })[0], "type-mismatch");
  EXPECT_EQ(after([](Kernel& k) { k.values[1].op = Op::bitwise_and; }), Codes{"dtype-not-allowed"});
  EXPECT_EQ(after([](Kernel& k) { k.buffers[0].type.dtype = Dtype::i32; }).back(), "dtype-mismatch");
  auto literal = [](Dtype dtype, double value) {
    return after([&](Kernel& k) {
      KernelValue extra;
      extra.name = "extra";
      extra.dtype = dtype;
      extra.operands = {{KernelOperand::Kind::literal, -1, {}, value}};
      k.values.push_back(extra);
    });
  };
  EXPECT_EQ(literal(Dtype::i8, 127), Codes{});
  EXPECT_EQ(literal(Dtype::i8, 128), Codes{"literal-dtype"});
  EXPECT_EQ(literal(Dtype::i8, -128), Codes{});
  EXPECT_EQ(literal(Dtype::u8, -1), Codes{"literal-dtype"});
  EXPECT_EQ(literal(Dtype::u32, 4294967295), Codes{});
  EXPECT_EQ(literal(Dtype::i64, std::exp2(53)), Codes{});
  EXPECT_EQ(literal(Dtype::i64, std::exp2(60)), Codes{"literal-dtype"});
  EXPECT_EQ(literal(Dtype::i32, NAN), Codes{"literal-dtype"});
  EXPECT_EQ(literal(Dtype::i32, HUGE_VAL), Codes{"literal-dtype"});
  EXPECT_EQ(literal(Dtype::bool_, 2), Codes{"literal-dtype"});
}

TEST(VerifyKernel, Stores) {
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[2].output = -1;
        k.values[2].store.clear();
      }),
      (Codes{"duplicate-name", "not-stored"}));
  EXPECT_EQ(after([](Kernel& k) { k.values.push_back(k.values[2]); }), Codes{"stored-twice"});
  EXPECT_EQ(after([](Kernel& k) { k.values[2].name = "z"; }), Codes{"output-name"});
  EXPECT_EQ(after([](Kernel& k) { k.buffers[1].type.dtype = Dtype::f16; }), Codes{"type-mismatch"});
  EXPECT_EQ(after([](Kernel& k) { k.values[2].output = 0; })[0], "not-an-output");
  EXPECT_EQ(after([](Kernel& k) { k.values[2].store[1] = {7, {{1, -1}}}; }), Codes{});
  EXPECT_EQ(after([](Kernel& k) { k.values[2].store[1] = {0, {}}; }), Codes{"store-map"});
  EXPECT_EQ(after([](Kernel& k) { k.buffers[1].type.shape[1] = 9; }), Codes{"incomplete-store"});
}

TEST(VerifyKernel, Numerics) {
  EXPECT_EQ(after([](Kernel& k) { k.numerics.accumulate = Dtype::i32; }), Codes{"bad-accumulate"});
  EXPECT_EQ(after([](Kernel& k) { k.numerics.wide = true; }), Codes{"nothing-to-widen"});
  EXPECT_EQ(after([](Kernel& k) { k.numerics.ulp = -1; }), Codes{"bad-budget"});
  EXPECT_EQ(after([](Kernel& k) { k.numerics.rel = NAN; }), Codes{"bad-budget"});
  EXPECT_EQ(after([](Kernel& k) { k.numerics.abs = HUGE_VAL; }), Codes{"bad-budget"});
}

}  // namespace
}  // namespace autoperfect

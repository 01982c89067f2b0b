// Each invariant of verify_kernel.cpp that concerns guards, gathers, contractions, scans and parts, broken on
// purpose.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

// Values: 0 %id[i], 1 %g[i,j], 2 %c[i], 3 %s[i,j], 4 %y[i,j], 5 %y[i,j+8]. Axes: 0 i, 1 j, 2 k, 3 d.
// Buffers: 0 %x, 1 %at, 2 %r, 3 %y, 4 %z.
Kernel good_kernel() {
  const std::string text =
      "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[4,8] row\n    in %at: i32[4] row\n"
      "    in %r: f32[?d,8] row\n    out %y: f32[4,16] row\n    out %z: f32[?d,8] row\n  }\n  math {\n"
      "    axes i=4, j=8, k=8, d=?3\n"
      "    %id[i] = copy %at[i] : i32\n"
      "    %g[i,j] = copy %x[%id[i],j+2] else 0.5 : f32\n"
      "    %c[i] = matmul(k) %x[i,k], %x[%id[i],k] : f32\n"
      "    %s[i,j] = cumsum(j) %g[i,j] reverse=true : f32\n"
      "    %y[i,j] = mul %s[i,j], %c[i] : f32\n"
      "    %y[i,j+8] = copy %g[i,j] : f32\n"
      "    %z[d,j] = copy %r[d,j] : f32\n"
      "  }\n  numerics {\n    accumulate f32\n  }\n}\n";
  auto kernel = parse_kernel(text);
  if (!kernel) throw std::runtime_error(format(kernel.errors(), text));
  return *kernel;
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

TEST(VerifyKernelForms, AcceptsAGoodKernel) {
  EXPECT_EQ(after([](Kernel&) {}), Codes{});
}

TEST(VerifyKernelForms, Guards) {
  auto guard = [](double literal) {
    return after([&](Kernel& k) { k.values[1].operands[0].literal = literal; });
  };
  EXPECT_EQ(guard(NAN), Codes{});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].operands[0].guarded = false; }), Codes{"out-of-bounds"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[1].operands[0].index[1] = {INT64_MIN, {{1, INT64_MAX}}};
      }),
      Codes{"out-of-bounds"});
  EXPECT_EQ(
      after([](Kernel& k) {
        auto& load = k.values[0].operands[0];
        load.guarded = true;
        load.literal = 0.5;
      }),
      Codes{"literal-dtype"});
  EXPECT_EQ(
      after([](Kernel& k) {
        auto& load = k.values[6].operands[0];
        load.guarded = true;
        load.index[0].offset = -1;
      }),
      Codes{"dynamic-index"});
}

TEST(VerifyKernelForms, Gathers) {
  auto gather = [](KernelValueId id) {
    return after([&](Kernel& k) { k.values[1].operands[0].gathered[0] = id; });
  };
  EXPECT_EQ(gather(1), Codes{"use-before-definition"});
  EXPECT_EQ(gather(-2), Codes{"use-before-definition"});
  EXPECT_EQ(gather(-1), Codes{});  // row 0
  EXPECT_EQ(after([](Kernel& k) { k.values[1].operands[0].gathered.pop_back(); }), Codes{"rank-mismatch"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].operands[0].index[0].offset = 1; }), Codes{"bad-index"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[2].operands[1] = k.values[2].operands[0];
        k.values[1].operands[0].gathered = {};
        k.values[0].dtype = k.buffers[1].type.dtype = Dtype::f32;
        k.values[4].operands[1] = k.values[1].operands[0];
        k.values[4].operands[1].index[0] = {};
        k.values[4].operands[1].gathered = {0, -1};
      }),
      Codes{"index-dtype"});
  EXPECT_EQ(
      after([](Kernel& k) { k.values[0].dtype = k.buffers[1].type.dtype = Dtype::bool_; })[0], "index-dtype");
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[4].axes = k.values[4].operands[1].gathered = {};
        k.values[1].axes = {1};
      })[0],
      "operand-axes");
  EXPECT_EQ(
      after([](Kernel& k) {
        auto& load = k.values[6].operands[0];
        load.index[1] = {};
        load.gathered = {-1, 0};
      })[0],
      "operand-axes");
  EXPECT_EQ(after([](Kernel& k) { k.values[1].operands[0].id = 2; })[0], "dynamic-index");
  EXPECT_EQ(after([](Kernel& k) { k.buffers[0].type.shape[0] = 0; })[0], "empty-gather");
}

TEST(VerifyKernelForms, Contractions) {
  EXPECT_EQ(after([](Kernel& k) { k.values[2].reduced = {}; }), Codes{"reduced-axes"});
  EXPECT_EQ(after([](Kernel& k) { k.values[2].reduced = {0, 2}; }), Codes{"axes-overlap"});
  EXPECT_EQ(after([](Kernel& k) { k.values[2].operands.pop_back(); }), Codes{"arity"});
  EXPECT_EQ(after([](Kernel& k) { k.values[2].scanned = 0; }), Codes{"scanned-axis"});
  EXPECT_EQ(
      after([](Kernel& k) { k.values[2].attributes.set("reverse", true); }), Codes{"unknown-attribute"});
  EXPECT_EQ(after([](Kernel& k) { k.values[2].dtype = Dtype::bf16; })[0], "type-mismatch");
  for (auto dtype : {Dtype::i32, Dtype::bool_, Dtype::c64}) {
    const auto codes = after([&](Kernel& k) {
      for (auto b : {0, 2, 3, 4})
        k.buffers[b].type.dtype = dtype;
      for (size_t v = 1; v < k.values.size(); ++v)
        k.values[v].dtype = dtype;
      k.values[1].operands[0].literal = 0;
    });
    EXPECT_EQ(codes[0], "dtype-not-allowed") << name(dtype);
  }
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[2].operands[1] = {};
        k.values[2].operands[1].kind = KernelOperand::Kind::literal;
      }),
      Codes{});
}

TEST(VerifyKernelForms, Scans) {
  EXPECT_EQ(after([](Kernel& k) { k.values[3].scanned = -1; }), Codes{"scanned-axis"});
  EXPECT_EQ(after([](Kernel& k) { k.values[3].scanned = 2; }), Codes{"scanned-axis"});
  EXPECT_EQ(after([](Kernel& k) { k.values[3].scanned = 9; })[0], "unknown-axis");
  EXPECT_EQ(after([](Kernel& k) { k.values[3].reduced = {2}; }), Codes{"reduced-axes"});
  EXPECT_EQ(after([](Kernel& k) { k.values[1].scanned = 1; })[0], "scanned-axis");
  EXPECT_EQ(
      after([](Kernel& k) { k.values[3].attributes.set("reverse", int64_t{1}); }), Codes{"attribute-type"});
  EXPECT_EQ(
      after([](Kernel& k) { k.values[3].attributes.set("axis", int64_t{1}); }), Codes{"unknown-attribute"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[3].operands[0] = {};
        k.values[3].operands[0].kind = KernelOperand::Kind::literal;
      }),
      Codes{"literal-operand"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[0].op = Op::logcumsumexp;
        k.values[0].scanned = 0;
      }),
      Codes{"dtype-not-allowed"});
}

TEST(VerifyKernelForms, Parts) {
  EXPECT_EQ(after([](Kernel& k) { k.values[5].store[1].offset = 7; }), Codes{"stored-twice"});
  EXPECT_EQ(after([](Kernel& k) { k.values[5].store[1].offset = 9; }), Codes{"out-of-bounds"});
  EXPECT_EQ(after([](Kernel& k) { k.values.erase(k.values.begin() + 5); }), Codes{"incomplete-store"});
  EXPECT_EQ(after([](Kernel& k) { k.buffers[3].type.shape[1] = 17; }), Codes{"incomplete-store"});
  EXPECT_EQ(after([](Kernel& k) { k.values[5].name = "v"; }), Codes{"output-name"});
  EXPECT_EQ(
      after([](Kernel& k) { k.values[5].dtype = Dtype::f16; }), (Codes{"type-mismatch", "type-mismatch"}));
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[4].store[1] = {0, {{1, 2}}};
        k.values[5].store[1] = {1, {{1, 2}}};
      }),
      Codes{});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[4].store[1] = {0, {{1, 2}}};
        k.values[5].store[1] = {15, {{1, -2}}};
      }),
      Codes{});
  EXPECT_EQ(after([](Kernel& k) { k.values[4].store[1] = {0, {{0, 1}, {1, 1}}}; }), Codes{"store-map"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k.values[5].operands[0] = {};
        k.values[5].operands[0].id = 4;
      }),
      Codes{"part-as-operand"});
}

// What holds at no size of the dynamic axis but 0 is found at 0, too.
TEST(VerifyKernelForms, AnEmptyDynamicAxisHidesNothing) {
  EXPECT_EQ(after([](Kernel& k) { k = with_dynamic_size(std::move(k), 0); }), Codes{});
  EXPECT_EQ(
      after([](Kernel& k) {
        k = with_dynamic_size(std::move(k), 0);
        k.buffers[4].type.shape[1] = 9;
      }),
      Codes{"incomplete-store"});
  EXPECT_EQ(
      after([](Kernel& k) {
        k = with_dynamic_size(std::move(k), 0);
        k.values[6].operands[0].index[1].offset = 1;
      }),
      Codes{"out-of-bounds"});
}

}  // namespace
}  // namespace autoperfect

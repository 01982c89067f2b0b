// Every line of kernel_invariants() has a kernel here that breaks it on purpose: it is found, named, at a
// place of the text, and with a hint. A line without one fails the test.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "ir/kernel_invariants.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

// Values: 0 %id[i], 1 %g[i,j], 2 %t[i], 3 %s[i,j], 4 %y[i,j], 5 %y[i,j+8], 6 %z[d,j].
// Axes: 0 i, 1 j, 2 d. Buffers: 0 %x, 1 %at, 2 %r, 3 %y, 4 %z, 5 %w.
const std::string& good_text() {
  static const std::string text =
      "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[4,8] strides=[1,4] offset=8 align=16\n"
      "    in %at: i32[4] row\n    in %r: f32[?d,8] row\n    out %y: f32[4,16] row\n"
      "    out %z: f32[?d,8] row alias=%r\n    temp %w: f32[?d] row\n  }\n  math {\n"
      "    axes i=4, j=8, d=?3\n"
      "    %id[i] = copy %at[i] : i32\n"
      "    %g[i,j] = copy %x[%id[i],j+2] else 0.5 : f32\n"
      "    %t[i] = max(j) %x[i,j] : f32\n"
      "    %s[i,j] = cumsum(j) %g[i,j] reverse=true : f32\n"
      "    %y[i,j] = mul %s[i,j], %t[i] : f32\n"
      "    %y[i,j+8] = copy %g[i,j] : f32\n"
      "    %z[d,j] = add %r[d,j], 1.0 : f32\n"
      "  }\n  numerics {\n    accumulate f32\n    reassociate yes\n    budget ulp=4.0 abs=0.0 rel=0.0\n  "
      "}\n}\n";
  return text;
}

Kernel good_kernel() {
  auto kernel = parse_kernel(good_text());
  if (!kernel) throw std::runtime_error(format(kernel.errors(), good_text()));
  return *kernel;
}

using Break = std::function<void(Kernel&)>;

const std::multimap<std::string, Break> mutations = {
    {"bad-name", [](Kernel& k) { k.name = "a b"; }},
    {"bad-name", [](Kernel& k) { k.axes[1].name = "iota"; }},
    {"bad-name", [](Kernel& k) { k.values[0].name = "a-b"; }},
    {"duplicate-name", [](Kernel& k) { k.axes[1].name = "i"; }},
    {"duplicate-name", [](Kernel& k) { k.buffers[0].name = "at"; }},
    {"duplicate-name", [](Kernel& k) { k.values[2].name = "x"; }},
    {"too-many-axes", [](Kernel& k) { k.axes.resize(65, k.axes[0]); }},
    {"bad-size", [](Kernel& k) { k.axes[1].size = -1; }},
    {"bad-size", [](Kernel& k) { k.axes[1].size = INT64_MAX; }},
    {"buffer-order", [](Kernel& k) { k.buffers[1].role = BufferRole::out; }},
    {"buffer-order", [](Kernel& k) { k.buffers[3].role = BufferRole::temp; }},
    {"shape-too-large", [](Kernel& k) { k.buffers[5].type.shape = {INT64_MAX}; }},
    {"shape-too-large", [](Kernel& k) { k.buffers[5].type.shape = {-1}; }},
    {"shape-too-large", [](Kernel& k) { k.axes[0].size = k.axes[1].size = int64_t{1} << 40; }},
    {"dynamic-dimension", [](Kernel& k) { k.buffers[5].type.shape = {4}; }},
    {"dynamic-dimension", [](Kernel& k) { k.buffers[5].dynamic_dims = {1}; }},
    {"dynamic-dimension", [](Kernel& k) { k.buffers[2].dynamic_dims.pop_back(); }},
    {"layout-of-result",
     [](Kernel& k) {
       k.buffers[3].layout.strides = {1, 4};
     }},
    {"layout-of-result", [](Kernel& k) { k.buffers[5].layout.offset = 1; }},
    {"strides-count", [](Kernel& k) { k.buffers[0].layout.strides.pop_back(); }},
    {"row-strides",
     [](Kernel& k) {
       k.buffers[0].layout.strides = {8, 1};
     }},
    {"row-strides",
     [](Kernel& k) {
       k.buffers[2].layout.strides = {8, 1};
     }},
    {"layout-reach",
     [](Kernel& k) {
       k.buffers[0].layout.strides = {1, -4};
     }},
    {"layout-reach", [](Kernel& k) { k.buffers[0].layout.offset = -1; }},
    {"layout-reach", [](Kernel& k) { k.buffers[0].layout.offset = int64_t{1} << 60; }},
    {"layout-reach",
     [](Kernel& k) {
       k.buffers[0].layout.strides = {INT64_MAX, 1};
     }},
    {"layout-reach",
     [](Kernel& k) {
       k.buffers[2].layout = {{-8, 1}, 100, 0};
       k.buffers[4].alias = -1;
     }},
    {"bad-align", [](Kernel& k) { k.buffers[0].layout.align = 24; }},
    {"bad-align", [](Kernel& k) { k.buffers[0].layout.align = 2; }},
    {"bad-align", [](Kernel& k) { k.buffers[0].layout.align = -16; }},
    {"bad-align", [](Kernel& k) { k.buffers[5].layout.align = 8192; }},
    {"op-not-allowed", [](Kernel& k) { k.values[4].op = Op::concatenate; }},
    {"arity", [](Kernel& k) { k.values[4].op = Op::exp; }},
    {"attribute-type", [](Kernel& k) { k.values[3].attributes.set("reverse", 1.0); }},
    {"unknown-attribute", [](Kernel& k) { k.values[4].attributes.set("axis", int64_t{1}); }},
    {"unknown-axis", [](Kernel& k) { k.values[4].axes = {7}; }},
    {"unknown-axis",
     [](Kernel& k) {
       k.values[2].operands[0].index[0].terms = {{9, 1}};
     }},
    {"axes-order",
     [](Kernel& k) {
       k.values[1].axes = {1, 0};
     }},
    {"axes-overlap",
     [](Kernel& k) {
       k.values[2].axes = {0, 1};
     }},
    {"reduced-axes", [](Kernel& k) { k.values[2].reduced = {}; }},
    {"reduced-axes", [](Kernel& k) { k.values[4].reduced = {2}; }},
    {"scanned-axis", [](Kernel& k) { k.values[3].scanned = 2; }},
    {"scanned-axis", [](Kernel& k) { k.values[4].scanned = 0; }},
    {"empty-reduction", [](Kernel& k) { k.axes[1].size = 0; }},
    {"use-before-definition", [](Kernel& k) { k.values[3].operands[0].id = 5; }},
    {"use-before-definition", [](Kernel& k) { k.values[1].operands[0].gathered[0] = 4; }},
    {"part-as-operand",
     [](Kernel& k) {
       k.values[5].operands[0] = {KernelOperand::Kind::value, 4, {}};
     }},
    {"operand-axes",
     [](Kernel& k) {
       k.values[2].operands[0].index[0].terms = {{2, 1}};
     }},
    {"operand-axes",
     [](Kernel& k) {
       k.values[6].operands[1] = {KernelOperand::Kind::iota, 0, {}};
     }},
    {"not-an-input", [](Kernel& k) { k.values[2].operands[0].id = 3; }},
    {"not-an-input", [](Kernel& k) { k.values[2].operands[0].id = 5; }},
    {"rank-mismatch", [](Kernel& k) { k.values[2].operands[0].index.pop_back(); }},
    {"rank-mismatch", [](Kernel& k) { k.values[6].store.pop_back(); }},
    {"bad-index",
     [](Kernel& k) {
       k.values[2].operands[0].index[0].terms = {{0, 0}};
     }},
    {"bad-index", [](Kernel& k) { k.values[1].operands[0].index[0].offset = 1; }},
    {"out-of-bounds", [](Kernel& k) { k.values[2].operands[0].index[1].offset = 1; }},
    {"out-of-bounds", [](Kernel& k) { k.values[1].operands[0].index[1].offset = INT64_MAX; }},
    {"out-of-bounds", [](Kernel& k) { k.values[5].store[1].offset = 9; }},
    {"index-dtype", [](Kernel& k) { k.buffers[1].type.dtype = k.values[0].dtype = Dtype::f32; }},
    {"empty-gather", [](Kernel& k) { k.buffers[0].type.shape[0] = 0; }},
    {"dynamic-index", [](Kernel& k) { k.values[6].operands[0].index[0].offset = 1; }},
    {"dynamic-index", [](Kernel& k) { k.values[6].operands[0].index[1].terms[0].first = 2; }},
    {"dtype-mismatch",
     [](Kernel& k) {
       k.values[4].op = Op::select;
       k.values[4].operands.insert(k.values[4].operands.begin(), k.values[4].operands[1]);
     }},
    {"dtype-not-allowed", [](Kernel& k) { k.values[6].op = Op::left_shift; }},
    {"type-mismatch", [](Kernel& k) { k.values[1].dtype = Dtype::f16; }},
    {"type-mismatch", [](Kernel& k) { k.buffers[3].type.dtype = Dtype::i32; }},
    {"literal-operand",
     [](Kernel& k) {
       k.values[2].operands[0] = {KernelOperand::Kind::literal, -1, {}, 1.0};
     }},
    {"literal-dtype",
     [](Kernel& k) {
       k.values[0].op = Op::add;
       k.values[0].operands.push_back({KernelOperand::Kind::literal, -1, {}, 0.5});
     }},
    {"not-an-output", [](Kernel& k) { k.values[6].output = 0; }},
    {"not-an-output", [](Kernel& k) { k.values[6].output = 5; }},
    {"output-name", [](Kernel& k) { k.values[6].name = "other"; }},
    {"not-stored", [](Kernel& k) { k.values.pop_back(); }},
    {"store-map",
     [](Kernel& k) {
       k.values[4].store[1] = {0, {{0, 1}, {1, 1}}}, k.values[4].store[0] = {};
     }},
    {"stored-twice", [](Kernel& k) { k.values[5].store[1].offset = 7; }},
    {"incomplete-store", [](Kernel& k) { k.values.erase(k.values.begin() + 5); }},
    {"bad-accumulate", [](Kernel& k) { k.numerics.accumulate = Dtype::i32; }},
    {"nothing-to-widen", [](Kernel& k) { k.numerics.wide = true, k.wide_where = k.budget_where; }},
    {"bad-budget", [](Kernel& k) { k.numerics.rel = -1; }},
    {"bad-budget", [](Kernel& k) { k.numerics.ulp = std::nan(""); }},
    {"bad-alias", [](Kernel& k) { k.buffers[4].alias = 3; }},
    {"bad-alias", [](Kernel& k) { k.buffers[4].alias = 17; }},
    {"bad-alias", [](Kernel& k) { k.buffers[5].alias = 2; }},
    {"alias-twice", [](Kernel& k) { k.buffers[3].alias = 2; }},
    {"alias-hazard", [](Kernel& k) { k.buffers[4].alias = 0; }},
    {"alias-hazard", [](Kernel& k) { k.values[6].operands[0].guarded = true; }},
};

std::vector<Diagnostic> after(const Break& change) {
  auto kernel = good_kernel();
  change(kernel);
  return verify(kernel);
}

TEST(KernelInvariants, AGoodKernelBreaksNone) {
  auto found = verify(good_kernel());
  EXPECT_TRUE(found.empty()) << format(found, good_text());
  EXPECT_EQ(print(good_kernel()), good_text());
}

TEST(KernelInvariants, EachIsFoundAndNamedWhenItIsBroken) {
  for (const auto& [code, change] : mutations) {
    auto found = after(change);
    bool named = false;
    for (const auto& diagnostic : found)
      named |= diagnostic.code == code;
    EXPECT_TRUE(named) << code << " was not found, but\n" << format(found, good_text());
  }
}

TEST(KernelInvariants, EachHasAMutation) {
  for (const auto& invariant : kernel_invariants())
    EXPECT_TRUE(mutations.count(invariant.code)) << invariant.code;
  for (const auto& [code, change] : mutations)
    EXPECT_EQ(kernel_invariant(code).code, code);
}

TEST(KernelInvariants, EachNumberOfTheListIsThere) {
  std::set<int> numbers;
  for (const auto& invariant : kernel_invariants())
    numbers.insert(invariant.number);
  EXPECT_EQ(numbers, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(KernelInvariants, EachReportSaysWhereAndWhatToDo) {
  for (const auto& [code, change] : mutations) {
    for (const auto& diagnostic : after(change)) {
      EXPECT_GT(diagnostic.where.line, 0) << diagnostic.code << ": " << diagnostic.message;
      EXPECT_FALSE(diagnostic.hint.empty()) << diagnostic.code;
      EXPECT_NE(format(diagnostic, good_text()).find('^'), std::string::npos) << diagnostic.code;
    }
  }
}

TEST(KernelInvariants, AllViolationsAreReportedAtOnce) {
  auto found = after([](Kernel& k) {
    k.buffers[0].layout.align = 3;
    k.values[0].dtype = Dtype::i64;
    k.numerics.rel = -1;
    k.values[6].name = "other";
  });
  std::set<std::string> codes;
  for (const auto& diagnostic : found)
    codes.insert(diagnostic.code);
  for (const char* code : {"bad-align", "type-mismatch", "bad-budget", "output-name"})
    EXPECT_TRUE(codes.count(code)) << code;
}

}  // namespace
}  // namespace autoperfect

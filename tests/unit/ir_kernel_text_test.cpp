#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/kernel_text.h"
#include "kernel_parts.h"

namespace autoperfect {
namespace {

std::string text_of(
    const std::string& buffers, const std::string& math, const std::string& numerics = "accumulate f32\n") {
  return kernel_text(buffers, math, "    " + numerics);
}

const std::string rows_in_out = "    in %x: f32[?i,8] row\n    out %y: f32[?i,8] row\n";

std::string centered(const std::string& axes) {
  return text_of(
      rows_in_out,
      "    axes " + axes +
          "\n    %t[i] = sum(j) %x[i,j] : f32\n    %m[i] = mul %t[i], 0.125 : f32\n"
          "    %y[i,j] = sub %x[i,j], %m[i] : f32\n");
}

TEST(KernelText, ReadsEveryPart) {
  auto kernel = parse_kernel(centered("i=?4, j=8"));
  ASSERT_TRUE(kernel.ok()) << format(kernel.errors());
  ASSERT_EQ(kernel->buffers.size(), 2u);
  EXPECT_EQ(kernel->buffers[0].type, (TensorType{Dtype::f32, {4, 8}}));
  EXPECT_EQ(kernel->buffers[0].dynamic_dims, (std::vector<AxisId>{0, -1}));
  EXPECT_TRUE(kernel->axes[0].dynamic);
  EXPECT_FALSE(kernel->axes[1].dynamic);
  const auto& total = kernel->values[0];
  EXPECT_EQ(total.op, Op::sum);
  EXPECT_EQ(total.axes, std::vector<AxisId>{0});
  EXPECT_EQ(total.reduced, std::vector<AxisId>{1});
  EXPECT_EQ(total.operands[0].kind, KernelOperand::Kind::load);
  EXPECT_EQ(total.operands[0].index, (std::vector<Affine>{{0, {{0, 1}}}, {0, {{1, 1}}}}));
  EXPECT_EQ(kernel->values[1].operands[1].literal, 0.125);
  const auto& y = kernel->values[2];
  EXPECT_EQ(y.output, 1);
  EXPECT_EQ(y.axes, (std::vector<AxisId>{0, 1}));
  EXPECT_EQ(y.operands[1].kind, KernelOperand::Kind::value);
  EXPECT_EQ(y.operands[1].id, 1);
}

TEST(KernelText, SignatureForgetsNamesAndDynamicSizes) {
  auto first = parse_kernel(centered("i=?4, j=8"));
  auto other_size = parse_kernel(centered("i=?400, j=8"));
  ASSERT_TRUE(first.ok() && other_size.ok());
  EXPECT_EQ(signature(*first), signature(*other_size));
  EXPECT_EQ(signature(*first).size(), 32u);
  auto text = print(*first);
  for (auto [from, to] :
       {std::pair<std::string, std::string>{"%x", "%input"}, {"%m", "%mean"}, {"@k", "@other"}}) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  auto renamed = parse_kernel(text);
  ASSERT_TRUE(renamed.ok()) << format(renamed.errors(), text);
  EXPECT_EQ(signature(*renamed), signature(*first));
}

TEST(KernelText, SignatureSeesEverythingElse) {
  auto base = print(*parse_kernel(centered("i=?4, j=8")));
  std::vector<std::pair<std::string, std::string>> changes = {
      {"sub %x", "add %x"},
      {"0.125", "0.25"},
      {"accumulate f32", "accumulate f64"},
      {"reassociate yes", "reassociate no"},
      {"ulp=0.0", "ulp=1.0"},
      {"sum(j) %x[i,j]", "sum(j) %x[i,-j+7]"},
  };
  std::vector<std::string> signatures = {signature(*parse_kernel(base))};
  for (const auto& [from, to] : changes) {
    auto text = base;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    auto changed = parse_kernel(text);
    ASSERT_TRUE(changed.ok()) << format(changed.errors(), text);
    signatures.push_back(signature(*changed));
  }
  for (size_t i = 0; i < signatures.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(signatures[i], signatures[j]) << i << " " << j;
  }
}

TEST(KernelText, CanonicalFormIsTextOfTheSameGrammar) {
  auto kernel = parse_kernel(centered("i=?4, j=8"));
  auto canonical = print(*kernel, Names::canonical);
  auto parsed = parse_kernel(canonical);
  ASSERT_TRUE(parsed.ok()) << format(parsed.errors(), canonical);
  EXPECT_EQ(print(*parsed, Names::canonical), canonical);
}

Affine index_of(const std::string& index) {
  // Loads go through an axis of size 1, so that every index stays in bounds.
  auto text = text_of(
      "    in %x: f32[100] row\n    out %y: f32[1,1] row\n",
      "    axes i=1, j=1\n    %y[i,j] = copy %x[" + index + "] : f32\n");
  auto kernel = parse_kernel(text);
  if (!kernel.ok()) {
    ADD_FAILURE() << format(kernel.errors(), text);
    return {};
  }
  EXPECT_NE(print(*parse_kernel(print(*kernel))).find("copy"), std::string::npos);
  return kernel->values[0].operands[0].index[0];
}

TEST(KernelText, ReadsAffineIndices) {
  EXPECT_EQ(index_of("i"), (Affine{0, {{0, 1}}}));
  EXPECT_EQ(index_of("7"), (Affine{7, {}}));
  EXPECT_EQ(index_of("2*j+1"), (Affine{1, {{1, 2}}}));
  EXPECT_EQ(index_of("j + 3*i + 2"), (Affine{2, {{0, 3}, {1, 1}}}));
  EXPECT_EQ(index_of("9-i-2*j"), (Affine{9, {{0, -1}, {1, -2}}}));
  EXPECT_EQ(index_of("-i+9"), (Affine{9, {{0, -1}}}));
  EXPECT_EQ(index_of("i-i+i-0"), (Affine{0, {{0, 1}}}));
  EXPECT_EQ(index_of("i-i"), (Affine{0, {}}));
}

TEST(KernelText, LiteralsHaveTheDtypeTheOpAsksFor) {
  auto text = text_of(
      "    in %x: i32[4] row\n    in %c: bool[4] row\n    out %y: i32[4] row\n    out %z: bool[4] row\n",
      "    axes i=4\n    %y[i] = select %c[i], -3, %x[i] : i32\n    %z[i] = less iota i, %x[i] : bool\n"
      "    %k[] = copy inf : f32\n    %l[] = select true, nan, -0.0 : f32\n");
  auto kernel = parse_kernel(text);
  ASSERT_TRUE(kernel.ok()) << format(kernel.errors(), text);
  EXPECT_EQ(operand_dtype(*kernel, kernel->values[0], 1), Dtype::i32);
  EXPECT_EQ(operand_dtype(*kernel, kernel->values[1], 0), Dtype::i32);  // not the bool of the result
  EXPECT_EQ(operand_dtype(*kernel, kernel->values[3], 0), Dtype::bool_);
  EXPECT_EQ(operand_dtype(*kernel, kernel->values[3], 1), Dtype::f32);
  EXPECT_TRUE(std::signbit(kernel->values[3].operands[2].literal));
  auto printed = print(*kernel);
  EXPECT_NE(printed.find("select %c[i], -3, %x[i]"), std::string::npos) << printed;
  EXPECT_NE(printed.find("select true, nan, -0.0 : f32"), std::string::npos) << printed;
  EXPECT_EQ(print(*parse_kernel(printed)), printed);
}

TEST(KernelText, ScalarsNeedNoAxes) {
  auto text = text_of("    in %x: f32[] row\n    out %y: f32[] row\n", "    %y[] = exp %x[] : f32\n");
  auto kernel = parse_kernel(text);
  ASSERT_TRUE(kernel.ok()) << format(kernel.errors(), text);
  EXPECT_EQ(print(*parse_kernel(print(*kernel))), print(*kernel));
}

TEST(KernelText, ReportsAllErrorsAtOnce) {
  auto text = text_of(
      "    in %x: f32[4] row\n    out %y: f32[4] row\n    out %z: f33[4] row\n",  // 6
      "    axes i=4\n"
      "    %a[i] = exx %x[i] : f32\n"         // 10
      "    %b[i] = exp %a[i] : f32\n"         // follows
      "    %c[i] = exp %x[i+1] : f32\n"       // 12
      "    %z[i] = exp %x[i] : f32\n"         // its buffer is in error
      "    %d[k] = exp %x[i] : f32\n",        // 14, and %y is never stored, which may be due to an error
      "accumulate f32\n    budget abs=1\n");  // 18
  auto kernel = parse_kernel(text);
  ASSERT_FALSE(kernel.ok());
  std::vector<std::string> found;
  for (const auto& d : kernel.errors())
    found.push_back(fmt::format("{} {}", d.where.line, d.code));
  EXPECT_EQ(
      found,
      (std::vector<std::string>{
          "6 unknown-dtype", "10 unknown-op", "12 out-of-bounds", "14 unknown-axis", "18 unexpected-token"}))
      << format(kernel.errors(), text);
}

}  // namespace
}  // namespace autoperfect

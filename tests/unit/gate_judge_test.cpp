#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gate/families.h"
#include "gate/job.h"
#include "gate/judge.h"
#include "gate_kernels.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

// --- the rule

struct Case {
  Kernel kernel;
  std::vector<Tensor> inputs;
};

FamilyResult judged(const Case& c, const std::vector<double>& got, std::vector<double> eager = {}) {
  InputFamily family{"test", c.kernel, c.inputs};
  References references;
  references.oracle = *run_reference(c.kernel, c.inputs, Precision::oracle);
  references.exact = *run_reference(c.kernel, c.inputs, Precision::exact);
  auto type = references.exact[0].type;
  if (!eager.empty()) references.eager = {Tensor::of(type, eager)};
  return judge(family, references, {Tensor::of(type, got)});
}

TEST(Judge, FloatsWithinTheBudget) {
  Case c{shifted(2), {vector({1, 2})}};
  EXPECT_TRUE(judged(c, {2, 5}).passed);
  EXPECT_TRUE(judged(c, {2, 5 + 0x1p-21}).passed);  // one ulp
  auto off = judged(c, {2, 5.001});
  EXPECT_FALSE(off.passed);
  EXPECT_NE(off.failure.find("%y[1]: expected 5, got 5.001"), std::string::npos) << off.failure;
  EXPECT_GT(off.worst_ulp, 1000);
}

TEST(Judge, NanAndInfinityMustBeWhereTheyAre) {
  Case c{shifted(3), {vector({nan_value, infinity, -infinity})}};
  EXPECT_TRUE(judged(c, {nan_value, infinity, -infinity}).passed);
  EXPECT_TRUE(judged(c, {-nan_value, infinity, -infinity}).passed);  // a NaN's sign means nothing
  EXPECT_FALSE(judged(c, {0, infinity, -infinity}).passed);
  EXPECT_FALSE(judged(c, {nan_value, -infinity, -infinity}).passed);
  EXPECT_FALSE(judged(c, {nan_value, infinity, nan_value}).passed);
  EXPECT_FALSE(judged(c, {nan_value, 3e38, -infinity}).passed);
  EXPECT_TRUE(judged(c, {0, infinity, -infinity}, {0, infinity, -infinity}).passed);  // as MLX does
}

TEST(Judge, ZerosHaveASign) {
  Case c{shifted(2, "mul %t[i], 1.0"), {vector({0.0, -0.0})}};
  EXPECT_TRUE(judged(c, {0.0, -0.0}).passed);
  EXPECT_FALSE(judged(c, {0.0, 0.0}).passed);
  EXPECT_FALSE(judged(c, {-0.0, -0.0}).passed);
}

TEST(Judge, AZeroThatRoundingTookOverZeroHasNoSign) {
  // exp(-a) + exp(-b) is 1 within rounding; the logarithm is tiny, and what is left of it in f16 a zero.
  const double b = -0.69287109375;
  auto scaled = [](const std::string& shrunk) {
    return parsed(
        "    in %x: f16[1] row\n    out %y: f16[1] row\n",
        "    axes i=1\n    %t[i] = logaddexp %x[i], -0.693359375 : f16\n    %y[i] = mul " + shrunk +
            " : f16\n");
  };
  Case near{scaled("%t[i], 5.9604644775390625e-08"), {vector({b}, Dtype::f16)}};
  EXPECT_TRUE(judged(near, {0.0}).passed);
  EXPECT_TRUE(judged(near, {-0.0}).passed);
  Case far{scaled("%t[i], 5.9604644775390625e-08"), {vector({-1.5}, Dtype::f16)}};
  EXPECT_TRUE(judged(far, {-0.0}).passed);
  EXPECT_FALSE(judged(far, {0.0}).passed);  // -0.32 of that is a zero too, but a negative one
  // Underflow alone keeps the sign.
  Case tiny{
      parsed(
          "    in %x: f16[2] row\n    out %y: f16[2] row\n",
          "    axes i=2\n    %t[i] = mul %x[i], 0.0009765625 : f16\n    %y[i] = mul %t[i], 0.5 : f16\n"),
      {vector({-0x1p-20, 0x1p-20}, Dtype::f16)}};
  EXPECT_TRUE(judged(tiny, {-0.0, 0.0}).passed);
  EXPECT_FALSE(judged(tiny, {0.0, 0.0}).passed);
  EXPECT_FALSE(judged(tiny, {-0.0, -0.0}).passed);
}

TEST(Judge, AScanOfHalvesMayGoOnWhereMlxStops) {
  // In bf16 256 + 1 is 256; a kernel adds in f32 and rounds once.
  auto counted = [](const std::string& dtype, const std::string& op) {
    return Case{
        parsed(
            "    in %x: bf16[300] row\n    out %y: " + dtype + "[300] row\n",
            "    axes i=300\n    %t[i] = cumsum(i) %x[i] : bf16\n" + op),
        {vector(std::vector<double>(300, 1), Dtype::bf16)}};
  };
  const Case above = counted("bool", "    %y[i] = greater %t[i], 270.0 : bool\n");
  std::vector<double> truth(300, 0), mlx(300, 0), wrong(300, 1);
  std::fill(truth.begin() + 273, truth.end(), 1);
  EXPECT_TRUE(judged(above, truth).passed);
  EXPECT_TRUE(judged(above, mlx).passed);
  EXPECT_FALSE(judged(above, wrong).passed);
  // Times this, 270 leaves the range and 256 does not.
  const Case large = counted("f32", "    %f[i] = cast %t[i] : f32\n    %y[i] = mul %f[i], 1.3e+36 : f32\n");
  std::vector<double> risen(300), stopped(300);
  for (int i = 0; i < 300; ++i) {
    risen[i] = round_to(Dtype::f32, round_to(Dtype::bf16, i + 1) * 1.3e36);
    stopped[i] = std::min(i + 1, 256) * 1.3e36;
  }
  ASSERT_TRUE(std::isinf(risen[299]));
  EXPECT_TRUE(judged(large, risen).passed);
  EXPECT_TRUE(judged(large, stopped).passed);
  stopped[100] = infinity;
  EXPECT_FALSE(judged(large, stopped).passed);
}

TEST(Judge, AScanOfHalvesMayLeaveTheRangeWhereMlxStops) {
  // The sum stops at 2048 in f16, of which 30 times is in range; 2400 times 30 is not, and stays infinite.
  const Case c{
      parsed(
          "    in %x: f16[2400] row\n    out %y: f16[2400] row\n",
          "    axes i=2400\n    %t[i] = cumsum(i) %x[i] : f16\n    %u[i] = mul %t[i], 30.0 : f16\n"
          "    %y[i] = mul %u[i], 0.0009765625 : f16\n"),
      {vector(std::vector<double>(2400, 1), Dtype::f16)}};
  std::vector<double> risen(2400), stopped(2400);
  for (int i = 0; i < 2400; ++i) {
    auto rest = [](double sum) {
      return round_to(Dtype::f16, round_to(Dtype::f16, sum * 30) * 0.0009765625);
    };
    risen[i] = rest(round_to(Dtype::f16, i + 1));
    stopped[i] = rest(std::min(i + 1, 2048));
  }
  ASSERT_TRUE(std::isinf(risen[2399]));
  EXPECT_TRUE(judged(c, risen).passed);
  EXPECT_TRUE(judged(c, stopped).passed);
  risen[2047] = infinity;
  EXPECT_FALSE(judged(c, risen).passed);
}

TEST(Judge, NearTheLargestNumberIsNotAnywhere) {
  // 3 x is the largest number within rounding; infinity may come, or a number as near, and no other.
  const float largest = std::numeric_limits<float>::max(), third = largest / 3;
  for (float x : {third, std::nextafter(third, largest)}) {
    Case c{shifted(1, "mul %t[i], 1.0"), {vector({x})}};
    const double exact = (*run_reference(c.kernel, c.inputs, Precision::exact))[0].at(0);
    EXPECT_EQ(std::isinf(exact), x > third);
    EXPECT_TRUE(judged(c, {infinity}).passed);
    EXPECT_TRUE(judged(c, {largest}).passed);
    EXPECT_FALSE(judged(c, {-infinity}).passed);
    EXPECT_FALSE(judged(c, {-largest}).passed);
    EXPECT_FALSE(judged(c, {1.0}).passed);
  }
}

TEST(Judge, NoLessAccurateThanMlx) {
  Case c{shifted(1), {vector({1})}};
  constexpr double ulp = 0x1p-22;  // of 2
  EXPECT_FALSE(judged(c, {2 + 20 * ulp}).passed);
  EXPECT_TRUE(judged(c, {2 + 20 * ulp}, {2 + 20 * ulp}).passed);
  EXPECT_TRUE(judged(c, {2 + 20 * ulp}, {2 - 20 * ulp}).passed);
  EXPECT_FALSE(judged(c, {2 + 60 * ulp}, {2 + 20 * ulp}).passed);
  EXPECT_FALSE(judged(c, {1.5}, {1.4}).passed);  // MLX being wrong is no licence
}

// MLX's own functions may be far off, as its exp is of denormal results: nothing but the same bits follows
// from it.
TEST(Judge, TheBitsOfMlxAreGoodHoweverFarOff) {
  const Case c{shifted(1), {vector({1})}};  // gives 2
  EXPECT_TRUE(judged(c, {5}, {5}).passed);
  EXPECT_FALSE(judged(c, {std::nextafter(5.0f, 6.0f)}, {5}).passed);
  EXPECT_FALSE(judged(c, {5}, {4}).passed);
}

TEST(Judge, IntegersAndBoolsAreExact) {
  Case integers{
      parsed(
          "    in %x: i32[2] row\n    out %y: i32[2] row\n",
          "    axes i=2\n    %y[i] = mul %x[i], 3 : i32\n"),
      {vector({5, -7}, Dtype::i32)}};
  EXPECT_TRUE(judged(integers, {15, -21}).passed);
  EXPECT_FALSE(judged(integers, {15, -20}).passed);

  Case bools{
      parsed(
          "    in %x: f32[3] row\n    out %y: bool[3] row\n",
          "    axes i=3\n    %t[i] = mul %x[i], 3.0 : f32\n    %y[i] = greater %t[i], 1.0 : bool\n"),
      {vector({1.0 / 3, 0.2, 0.4})}};
  EXPECT_TRUE(judged(bools, {0, 0, 1}).passed);
  EXPECT_TRUE(judged(bools, {1, 0, 1}).passed);  // rounding decides the first
  EXPECT_FALSE(judged(bools, {0, 1, 1}).passed);
  EXPECT_FALSE(judged(bools, {0, 0, 0}).passed);
}

TEST(Judge, ABoolIsZeroOrOne) {
  Case c{
      parsed(
          "    in %x: f32[1] row\n    out %y: bool[1] row\n",
          "    axes i=1\n    %y[i] = greater %x[i], 1.0 : bool\n"),
      {vector({2})}};
  InputFamily family{"test", c.kernel, c.inputs};
  References references;
  references.oracle = *run_reference(c.kernel, c.inputs, Precision::oracle);
  references.exact = *run_reference(c.kernel, c.inputs, Precision::exact);
  Tensor got = references.exact[0];
  EXPECT_TRUE(judge(family, references, {got}).passed);
  got.bytes[0] = 2;
  EXPECT_FALSE(judge(family, references, {got}).passed);
}

TEST(Judge, Ulps) {
  EXPECT_EQ(ulp_at(Dtype::f32, 1), 0x1p-23);
  EXPECT_EQ(ulp_at(Dtype::f32, -1.99), 0x1p-23);
  EXPECT_EQ(ulp_at(Dtype::f32, 0), 0x1p-149);
  EXPECT_EQ(ulp_at(Dtype::f32, 1e-45), 0x1p-149);
  EXPECT_EQ(ulp_at(Dtype::bf16, 1), 0x1p-7);
  EXPECT_EQ(ulp_at(Dtype::f16, 0), 0x1p-24);
  EXPECT_EQ(ulp_at(Dtype::f16, 1e10), 0x1p5);
}

TEST(Judge, IndexTexts) {
  EXPECT_EQ(index_text({}, 0), "");
  EXPECT_EQ(index_text({10}, 7), "[7]");
  EXPECT_EQ(index_text({2, 3, 4}, 23), "[1, 2, 3]");
}

// --- input families

Kernel two_axes() {
  return parsed(
      "    in %x: f32[?i,64] row\n    in %w: f32[64] row\n    in %n: i32[?i] row\n    out %y: f32[?i,64] "
      "row\n",
      "    axes i=?4096, j=64\n    %f[i] = cast %n[i] : f32\n    %t[i,j] = mul %x[i,j], %w[j] : f32\n"
      "    %y[i,j] = add %t[i,j], %f[i] : f32\n");
}

TEST(Families, AreDeterministicInTheSeed) {
  auto a = make_families(two_axes(), 1, 1 << 16), b = make_families(two_axes(), 1, 1 << 16),
       c = make_families(two_axes(), 2, 1 << 16);
  ASSERT_EQ(a.size(), b.size());
  for (size_t f = 0; f < a.size(); ++f) {
    for (size_t i = 0; i < a[f].inputs.size(); ++i)
      EXPECT_EQ(a[f].inputs[i].bytes, b[f].inputs[i].bytes);
  }
  EXPECT_NE(a[0].inputs[0].bytes, c[0].inputs[0].bytes);
}

TEST(Families, KeepStaticSizesAndStaySmall) {
  std::set<int64_t> rows;
  for (auto& family : make_families(two_axes(), 1, 1 << 16)) {
    auto& shape = family.inputs[0].type.shape;
    EXPECT_EQ(shape[1], 64);
    EXPECT_EQ(family.inputs[2].type.shape[0], shape[0]);
    EXPECT_EQ(family.kernel.axes[0].size, shape[0]);
    EXPECT_LE(work_of(family.kernel), 1 << 16);
    EXPECT_EQ(family.inputs[1].type.shape[0], 64);
    rows.insert(shape[0]);
  }
  EXPECT_TRUE(rows.count(1));
  EXPECT_TRUE(rows.count(17));
  EXPECT_GT(*rows.rbegin(), 200);
}

TEST(Families, HoldWhatTheyAreNamedFor) {
  bool nan = false, infinite = false, denormal = false, negative_zero = false, large = false;
  std::set<std::string> names;
  for (auto& family : make_families(two_axes(), 1, 1 << 16)) {
    names.insert(family.name);
    for (double value : family.inputs[0].values()) {
      nan |= std::isnan(value);
      infinite |= std::isinf(value);
      denormal |= value != 0 && std::fabs(value) < 0x1p-126;
      negative_zero |= value == 0 && std::signbit(value);
      large |= std::isfinite(value) && std::fabs(value) > 1e4;
    }
  }
  EXPECT_TRUE(nan && infinite && denormal && negative_zero && large);
  for (const char* name : {"normal", "shifted", "equal", "ties", "masked rows", "size 1", "many"}) {
    EXPECT_TRUE(names.count(name)) << name;
  }
}

TEST(Families, IntegersThatWouldTrapAreAvoided) {
  auto kernel = parsed(
      "    in %a: i32[?i] row\n    in %b: i32[?i] row\n    out %y: i32[?i] row\n",
      "    axes i=?100\n    %y[i] = remainder %a[i], %b[i] : i32\n");
  for (auto& family : make_families(kernel, 1, 1 << 16)) {
    for (double value : family.inputs[1].values())
      ASSERT_TRUE(value >= 1 && value <= 7) << family.name;
  }
}

TEST(Families, AHugeStaticKernelGetsOnlyTheFirst) {
  auto kernel = parsed(
      "    in %x: f32[2048,2048] row\n    out %y: f32[2048,2048] row\n",
      "    axes i=2048, j=2048\n    %y[i,j] = mul %x[i,j], 2.0 : f32\n");
  auto families = make_families(kernel, 1, 1 << 16);
  EXPECT_EQ(families.size(), 2u);
  EXPECT_EQ(families[0].name, "normal");
}

// --- the job

TEST(Job, SurvivesTheWay) {
  Job job;
  job.binary = std::string("\0binary", 7);
  job.launch = {{0, 3}, 16, 8, 4096, 64};
  job.families = {{{5, 7}, {{{0, 4096, 0, 100}}, {{4096, 4096, 3996, 100}}}}};
  job.runs = {{0, at_end, 0xff, 1, {{1, 8, 20}, {0, 0, 8}}, {{4096, 8192, 12, 8180}}}};
  job.input_file_bytes = 8192;
  job.output_file_bytes = 12288;
  std::string bytes = encode(job);
  auto again = decode(bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(*again), bytes);
  EXPECT_EQ(again->binary, job.binary);
  EXPECT_EQ(again->launch, job.launch);
  EXPECT_EQ(again->runs[0].chunks[0].end, 20);
  EXPECT_EQ(again->families[0].inputs[1][0].data, 3996);
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_FALSE(decode(bytes.substr(0, length)));
  EXPECT_FALSE(decode(bytes + "x"));
}

}  // namespace
}  // namespace autoperfect

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gate/error_bound.h"
#include "gate/families.h"
#include "gate/job.h"
#include "gate/judge.h"
#include "ir/kernel_text.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::nan("");

Kernel parsed(const std::string& abi, const std::string& math) {
  std::string text = "autoperfect.kernel 1\nkernel @test {\n  abi {\n" + abi + "  }\n  math {\n" + math +
                     "  }\n  numerics {\n    accumulate f32\n    reassociate yes\n    budget ulp=1.0 abs=0.0 "
                     "rel=0.0\n  }\n}\n";
  auto kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << (kernel ? "" : format(kernel.errors(), text));
  return kernel ? *kernel : Kernel{};
}

Tensor vector(const std::vector<double>& values, Dtype dtype = Dtype::f32) {
  return Tensor::of({dtype, {static_cast<int64_t>(values.size())}}, values);
}

// y = x - 1, written through one value so that its error counts.
Kernel shifted(int64_t size, const std::string& op = "sub %t[i], 1.0") {
  std::string n = std::to_string(size);
  return parsed(
      "    in %x: f32[" + n + "] row\n    out %y: f32[" + n + "] row\n",
      "    axes i=" + n + "\n    %t[i] = mul %x[i], 3.0 : f32\n    %y[i] = " + op + " : f32\n");
}

std::vector<double> bounds_of(const Kernel& kernel, const std::vector<double>& x) {
  auto bounds = error_bounds(kernel, {vector(x)});
  EXPECT_TRUE(bounds) << (bounds ? "" : format(bounds.errors()));
  return bounds ? (*bounds)[0].values() : std::vector<double>(x.size(), -1);
}

// --- error bounds

TEST(ErrorBounds, CancellationKeepsTheErrorOfItsTerms) {
  auto bounds = bounds_of(shifted(2), {1.0 / 3, 1000});
  EXPECT_NEAR(bounds[0], 0x1p-24, 0x1p-30);  // half an ulp of 1, though the result is 0
  EXPECT_NEAR(bounds[1], (3000 + 2999) * 0x1p-24, 1e-6);
}

TEST(ErrorBounds, CastsThatAreUndefinedMayGiveAnything) {
  auto cast = [](const std::string& dtype) {
    return parsed(
        "    in %x: f32[5] row\n    out %y: " + dtype + "[5] row\n",
        "    axes i=5\n    %y[i] = cast %x[i] : " + dtype + "\n");
  };
  const std::vector<double> x = {1.5, -1.5, nan_value, 3e9, 300};
  EXPECT_EQ(bounds_of(cast("i32"), x), (std::vector<double>{0, 0, infinity, infinity, 0}));
  EXPECT_EQ(bounds_of(cast("u32"), x), (std::vector<double>{0, infinity, infinity, 0, 0}));
  EXPECT_EQ(bounds_of(cast("u8"), x), (std::vector<double>{0, infinity, infinity, infinity, infinity}));
}

TEST(ErrorBounds, AProductThatMayLeaveTheRangeOnTheWayMayBeAnything) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[1] row\n", "    axes i=4\n    %y[0] = prod(i) %x[i] : f32\n");
  EXPECT_EQ(bounds_of(kernel, {1e30, 1e30, 1e-30, 1e-30})[0], infinity);
  EXPECT_EQ(bounds_of(kernel, {1, 1e-30, 1e-30, 1})[0], infinity);
  EXPECT_LT(bounds_of(kernel, {1e30, 0, infinity, 2})[0], 1e-6);
  EXPECT_LT(bounds_of(kernel, {0, 1, 2, 0.5})[0], 1e-6);
}

TEST(ErrorBounds, ASumThatMayLeaveTheRangeOnTheWayMayBeAnything) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[1] row\n", "    axes i=4\n    %y[0] = sum(i) %x[i] : f32\n");
  EXPECT_EQ(bounds_of(kernel, {3e38, -3e38, 3e38, -3e38})[0], infinity);
  EXPECT_EQ(bounds_of(kernel, {1, -3e38, 0, -3e38})[0], infinity);
  EXPECT_LT(bounds_of(kernel, {3e38, -3e38, 0, 0})[0], 1e33);  // no order leaves the range
  EXPECT_LT(bounds_of(kernel, {infinity, 1, 2, 3})[0], 1e-5);
  EXPECT_FALSE(bounds_of(kernel, {infinity, -infinity, 2, nan_value})[0] > 1e-5);
}

TEST(ErrorBounds, WhatDependsOnASumOutOfRangeMayBeAnything) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[1] row\n",
      "    axes i=4\n    %t[] = sum(i) %x[i] : f32\n    %big[] = equal %t[], inf : bool\n"
      "    %y[0] = select %big[], 3.4028234663852886e+38, %t[] : f32\n");
  EXPECT_EQ(bounds_of(kernel, {3e38, -3e38, 3e38, -3e38})[0], infinity);
  EXPECT_LT(bounds_of(kernel, {infinity, 1, 1, 1})[0], 1e-5);
}

TEST(ErrorBounds, AScanThatLeftTheRangeDoesNotComeBack) {
  auto kernel = parsed(
      "    in %x: f16[4] row\n    out %y: f16[4] row\n",
      "    axes i=4\n    %y[i] = cumprod(i) %x[i] : f16\n");
  auto bounds = error_bounds(kernel, {vector({300, 300, 0.01, 1}, Dtype::f16)});
  ASSERT_TRUE(bounds) << format(bounds.errors());
  EXPECT_LT(bounds->at(0).at(0), 1);
  EXPECT_EQ(bounds->at(0).at(1), infinity);
  EXPECT_EQ(bounds->at(0).at(2), infinity);
}

TEST(ErrorBounds, LogaddexpRoundsItsLargerPart) {
  auto kernel = parsed(
      "    in %x: f32[1] row\n    out %y: f32[1] row\n",
      "    axes i=1\n    %y[i] = logaddexp %x[i], -0.5 : f32\n");
  // log(exp(-0.9327) + exp(-0.5)) is near 0, made of -0.5 and about 0.5.
  EXPECT_GE(bounds_of(kernel, {-0.9327})[0], 3 * 0.9 * 0x1p-24);
}

TEST(ErrorBounds, AnInfiniteOrNanInputIsNoLicence) {
  for (const char* op : {"exp %t[i]", "sub %t[i], 1.0", "tanh %t[i]", "log %t[i]", "div 1.0, %t[i]"}) {
    auto bounds = bounds_of(shifted(3, op), {infinity, -infinity, nan_value});
    for (double bound : bounds)
      EXPECT_FALSE(std::isinf(bound)) << op;
    for (double bound : bounds)
      EXPECT_FALSE(bound > 1e-6) << op << ' ' << bound;
  }
}

TEST(ErrorBounds, AMaskedRowIsNoLicence) {
  // softmax's middle: exp(t - max t) with some -inf.
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[4] row\n",
      "    axes i=4\n    %t[i] = mul %x[i], 0.3 : f32\n    %m[] = max(i) %t[i] : f32\n"
      "    %d[i] = sub %t[i], %m[] : f32\n    %y[i] = exp %d[i] : f32\n");
  for (double bound : bounds_of(kernel, {-infinity, 1, 2, -infinity}))
    EXPECT_LT(bound, 1e-6);
}

TEST(ErrorBounds, AVarianceThatMayBeZeroIsUndetermined) {
  auto kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[4] row\n",
      "    axes i=4\n    %s[] = sum(i) %x[i] : f32\n    %m[] = mul %s[], 0.25 : f32\n"
      "    %d[i] = sub %x[i], %m[] : f32\n    %q[i] = square %d[i] : f32\n    %v[] = sum(i) %q[i] : f32\n"
      "    %r[] = rsqrt %v[] : f32\n    %y[i] = mul %d[i], %r[] : f32\n");
  for (double bound : bounds_of(kernel, {0.1, 0.1, 0.1, 0.1}))
    EXPECT_TRUE(std::isinf(bound)) << bound;
  for (double bound : bounds_of(kernel, {1, 2, 3, 4}))
    EXPECT_LT(bound, 1e-5);
}

TEST(ErrorBounds, ASignWithinRoundingTimesAnInfinityIsUndetermined) {
  auto kernel = parsed(
      "    in %x: f32[3] row\n    in %w: f32[3] row\n    out %y: f32[3] row\n",
      "    axes i=3\n    %t[i] = mul %x[i], 3.0 : f32\n    %d[i] = sub %t[i], 1.0 : f32\n"
      "    %y[i] = mul %d[i], %w[i] : f32\n");
  auto bounds = error_bounds(kernel, {vector({1.0 / 3, 5, 1.0 / 3}), vector({-infinity, -infinity, 2})});
  ASSERT_TRUE(bounds) << format(bounds.errors());
  const auto found = (*bounds)[0].values();
  EXPECT_TRUE(std::isinf(found[0])) << found[0];  // either infinity, or NaN
  EXPECT_EQ(found[1], 0);
  EXPECT_LT(found[2], 1e-6);
}

TEST(ErrorBounds, AnAngleAtAZeroWhoseSignIsOpenIsUndetermined) {
  auto angle = [](const std::string& first) {
    return parsed(
        "    in %x: f32[2] row\n    out %y: f32[] row\n",
        "    axes i=2\n    %m[] = max(i) %x[i] : f32\n    %n[] = sub %x[0], 0.0 : f32\n    %y[] = atan2 " +
            first + ", -1.0 : f32\n");
  };
  EXPECT_TRUE(std::isinf(bounds_of(angle("%m[]"), {0.0, -0.0})[0]));
  EXPECT_LT(bounds_of(angle("%m[]"), {2, 3})[0], 1e-6);
  EXPECT_LT(bounds_of(angle("%n[]"), {1, -0.0})[0], 1e-6);
}

TEST(ErrorBounds, AThresholdHitWithinRoundingIsUncertain) {
  auto kernel = parsed(
      "    in %x: f32[3] row\n    out %y: bool[3] row\n",
      "    axes i=3\n    %t[i] = mul %x[i], 3.0 : f32\n    %y[i] = greater %t[i], 1.0 : bool\n");
  auto bounds = bounds_of(kernel, {1.0 / 3, 0.2, 0.4});
  EXPECT_EQ(bounds[0], 1);
  EXPECT_EQ(bounds[1], 0);
  EXPECT_EQ(bounds[2], 0);
}

TEST(ErrorBounds, AStepIsAsHighAsItIs) {
  auto bounds = bounds_of(shifted(2, "floor %t[i]"), {1.0 / 3, 0.5});
  EXPECT_EQ(bounds[0], 1);
  EXPECT_EQ(bounds[1], 0);
}

TEST(ErrorBounds, HalvesRoundCoarsely) {
  auto kernel = parsed(
      "    in %x: bf16[1] row\n    out %y: bf16[1] row\n",
      "    axes i=1\n    %t[i] = mul %x[i], 3.0 : bf16\n    %y[i] = sub %t[i], 3.0 : bf16\n");
  auto bounds = error_bounds(kernel, {vector({1}, Dtype::bf16)});
  ASSERT_TRUE(bounds);
  EXPECT_NEAR((*bounds)[0].at(0), 3 * 0x1p-8, 1e-4);
}

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

TEST(Judge, NoLessAccurateThanMlx) {
  Case c{shifted(1), {vector({1})}};
  constexpr double ulp = 0x1p-22;  // of 2
  EXPECT_FALSE(judged(c, {2 + 20 * ulp}).passed);
  EXPECT_TRUE(judged(c, {2 + 20 * ulp}, {2 + 20 * ulp}).passed);
  EXPECT_TRUE(judged(c, {2 + 20 * ulp}, {2 - 20 * ulp}).passed);
  EXPECT_FALSE(judged(c, {2 + 60 * ulp}, {2 + 20 * ulp}).passed);
  EXPECT_FALSE(judged(c, {1.5}, {1.4}).passed);  // MLX being wrong is no licence
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

// The gate on guards, gathers, contractions, scans and outputs in parts: honest kernels pass, and the
// mistakes that are easily made with each do not.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "compile/cpu/compile.h"
#include "gate/error_bound.h"
#include "gate/families.h"
#include "gate/gate.h"
#include "ir/gathered_inputs.h"
#include "ir/kernel_text.h"
#include "kernel_parts.h"

namespace autoperfect {
namespace {

Kernel parsed(const std::string& abi, const std::string& math) {
  return parse_or_throw(kernel_text(abi, math));
}

// `body` sees in, out, begin and end, and runs over the first axis.
Verdict judged(const Kernel& kernel, const std::string& body, const std::string& before = "") {
  Candidate made;
  made.source =
      before +
      "\nvoid autoperfect_kernel(const void* const* in, void* const* out, void* scratch, void* partial, "
      "const long* dims, long begin, long end) {\n" +
      body + "\n}\n";
  made.launch.parallel = {0};
  auto binary = compile_cpu(made.source, *system_compiler());
  if (!binary) throw std::runtime_error(format(binary.errors(), made.source));
  GateOptions options;
  options.seconds = 60;
  return gate(kernel, made, *binary, options);
}

class GateForms : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the worker's sandbox forbids what a sanitizer needs";
#endif
  }

  static void expect_admitted(const Verdict& verdict) {
    EXPECT_TRUE(verdict.admitted) << format(verdict.failures);
  }
  static void expect_rejected(const Verdict& verdict, const std::string& code) {
    EXPECT_FALSE(verdict.admitted);
    ASSERT_FALSE(verdict.failures.empty());
    EXPECT_EQ(verdict.failures[0].code, code) << format(verdict.failures);
  }
};

TEST_F(GateForms, Guards) {
  const Kernel kernel = parsed(
      "    in %x: f32[?i,20] row\n    out %y: f32[?i,22] row\n",
      "    axes i=?100, j=22\n    %y[i,j] = copy %x[i,j-1] else 0.5 : f32\n");
  auto with = [&](const std::string& inside) {
    return judged(
        kernel,
        "auto x = (const float*)in[0]; auto y = (float*)out[0];\n"
        "for (long i = begin; i < end; i++) for (long j = 0; j < 22; j++) y[i * 22 + j] = " +
            inside + " ? x[i * 20 + j - 1] : 0.5f;");
  };
  expect_admitted(with("j >= 1 && j <= 20"));
  expect_rejected(with("j > 1 && j <= 20"), "wrong-result");
  expect_rejected(with("j >= 1 && j < 20"), "wrong-result");
  EXPECT_FALSE(with("j >= 1").admitted);
  EXPECT_FALSE(with("j <= 20").admitted);
}

TEST_F(GateForms, Gathers) {
  const Kernel kernel = parsed(
      "    in %table: f32[10,3] row\n    in %at: i32[?i] row\n    out %y: f32[?i,3] row\n",
      "    axes i=?100, j=3\n    %id[i] = copy %at[i] : i32\n    %y[i,j] = copy %table[%id[i],j] : f32\n");
  auto with = [&](const std::string& rule) {
    return judged(
        kernel,
        "auto table = (const float*)in[0]; auto at = (const int*)in[1]; auto y = (float*)out[0];\n"
        "for (long i = begin; i < end; i++) { long n = at[i]; " +
            rule + " for (long j = 0; j < 3; j++) y[i * 3 + j] = table[n * 3 + j]; }");
  };
  const std::string wrap = "if (n < 0) n += 10;", low = "if (n < 0) n = 0;", high = "if (n > 9) n = 9;";
  expect_admitted(with(wrap + low + high));
  expect_rejected(with(low + high), "wrong-result");
  EXPECT_FALSE(with(wrap).admitted);  // reads where it must not
  EXPECT_FALSE(with(wrap + low).admitted);
  EXPECT_FALSE(with(wrap + high).admitted);
  EXPECT_FALSE(with("n = (n % 10 + 10) % 10;").admitted);  // wraps again and again
}

// Two updates a row, from its result as the lowering writes it: the second is for the element where both are.
constexpr const char* places =
    "    axes i=?100, j=20\n    %at_j[j] = copy iota j : i32\n"
    "    %first[i] = copy %at[i,0] : i32\n    %a[i] = less %first[i], 0 : bool\n"
    "    %b[i] = add %first[i], 20 : i32\n    %c[i] = select %a[i], %b[i], %first[i] : i32\n"
    "    %d[i,j] = equal %at_j[j], %c[i] : bool\n"
    "    %second[i] = copy %at[i,1] : i32\n    %e[i] = less %second[i], 0 : bool\n"
    "    %f[i] = add %second[i], 20 : i32\n    %g[i] = select %e[i], %f[i], %second[i] : i32\n"
    "    %h[i,j] = equal %at_j[j], %g[i] : bool\n";

TEST_F(GateForms, Scatters) {
  const Kernel kernel = parsed(
      "    in %x: f32[?i,20] row\n    in %at: i32[?i,2] row\n    in %u: f32[?i,2] row\n"
      "    out %y: f32[?i,20] row\n",
      std::string(places) +
          "    %t[i,j] = select %d[i,j], %u[i,0], %x[i,j] : f32\n"
          "    %y[i,j] = select %h[i,j], %u[i,1], %t[i,j] : f32\n");
  auto with = [&](const std::string& order, const std::string& rule) {
    return judged(
        kernel,
        "auto x = (const float*)in[0]; auto at = (const int*)in[1]; auto u = (const float*)in[2];\n"
        "auto y = (float*)out[0];\n"
        "for (long i = begin; i < end; i++) { for (long j = 0; j < 20; j++) y[i * 20 + j] = x[i * 20 + j];\n"
        "for (long m = 0; m < 2; m++) { long n = " +
            order + ", p = at[i * 2 + n]; " + rule + " y[i * 20 + p] = u[i * 2 + n]; } }");
  };
  const std::string wrap = "if (p < 0) p += 20;", inside = "if (p >= 0 && p < 20)";
  expect_admitted(with("m", wrap + inside));
  expect_rejected(with("1 - m", wrap + inside), "wrong-result");
  expect_rejected(with("m", inside), "wrong-result");
  expect_rejected(with("1", wrap + inside), "wrong-result");
  EXPECT_FALSE(with("m", wrap).admitted);  // writes where it must not
}

TEST_F(GateForms, ScattersThatAdd) {
  const Kernel kernel = parsed(
      "    in %x: f32[?i,20] row\n    in %at: i32[?i,2] row\n    in %u: f32[?i,2] row\n"
      "    out %y: f32[?i,20] row\n",
      std::string(places) +
          "    %s[i,j] = add %x[i,j], %u[i,0] : f32\n    %t[i,j] = select %d[i,j], %s[i,j], %x[i,j] : f32\n"
          "    %v[i,j] = add %t[i,j], %u[i,1] : f32\n    %y[i,j] = select %h[i,j], %v[i,j], %t[i,j] : f32\n");
  auto with = [&](const std::string& second) {
    return judged(
        kernel,
        "auto x = (const float*)in[0]; auto at = (const int*)in[1]; auto u = (const float*)in[2];\n"
        "auto y = (float*)out[0];\n"
        "for (long i = begin; i < end; i++) { for (long j = 0; j < 20; j++) y[i * 20 + j] = x[i * 20 + j];\n"
        "long p = at[i * 2], q = at[i * 2 + 1]; if (p < 0) p += 20; if (q < 0) q += 20;\n"
        "if (p >= 0 && p < 20) y[i * 20 + p] += u[i * 2];\n" +
            second + " }");
  };
  expect_admitted(with("if (q >= 0 && q < 20) y[i * 20 + q] += u[i * 2 + 1];"));
  expect_rejected(with("if (q >= 0 && q < 20 && q != p) y[i * 20 + q] += u[i * 2 + 1];"), "wrong-result");
  expect_rejected(
      with("if (q >= 0 && q < 20) y[i * 20 + q] = x[i * 20 + q] + u[i * 2 + 1];"), "wrong-result");
}

TEST_F(GateForms, PartsOfAnOutput) {
  const Kernel kernel = parsed(
      "    in %x: f32[?i,8] row\n    out %y: f32[?i,16] row\n",
      "    axes i=?100, j=8\n    %y[i,2*j] = copy %x[i,j] : f32\n    %y[i,2*j+1] = neg %x[i,j] : f32\n");
  auto with = [&](const std::string& statements) {
    return judged(
        kernel,
        "auto x = (const float*)in[0]; auto y = (float*)out[0];\n"
        "for (long i = begin; i < end; i++) for (long j = 0; j < 8; j++) { " +
            statements + " }");
  };
  const std::string even = "y[i * 16 + 2 * j] = x[i * 8 + j];",
                    odd = "y[i * 16 + 2 * j + 1] = -x[i * 8 + j];";
  expect_admitted(with(even + odd));
  expect_rejected(with(even), "bad-write");
  expect_rejected(with(even + "if (j < 7) " + odd), "bad-write");
  expect_rejected(with("y[i * 16 + j] = x[i * 8 + j]; y[i * 16 + 8 + j] = -x[i * 8 + j];"), "wrong-result");
}

TEST_F(GateForms, Scans) {
  const Kernel kernel = parsed(
      "    in %x: f32[?i,100] row\n    out %y: f32[?i,100] row\n",
      "    axes i=?64, j=100\n    %y[i,j] = cumsum(j) %x[i,j] inclusive=false : f32\n");
  auto with = [&](const std::string& type, const std::string& statements) {
    return judged(
        kernel,
        "auto x = (const float*)in[0]; auto y = (float*)out[0];\n"
        "for (long i = begin; i < end; i++) { const float* r = x + i * 100; float* o = y + i * 100; " +
            type + " s = 0; " + statements + " }");
  };
  const std::string honest = "for (long j = 0; j < 100; j++) { o[j] = s; s += r[j]; }";
  expect_admitted(with("float", honest));
  expect_admitted(with("double", honest));
  // Blocks of ten, summed before they are scanned: another order.
  expect_admitted(with(
      "float",
      "for (long b = 0; b < 100; b += 10) { float t = 0; for (long j = b; j < b + 10; j++) { o[j] = s + t; t "
      "+= "
      "r[j]; } s += t; }"));
  expect_rejected(with("float", "for (long j = 0; j < 100; j++) { s += r[j]; o[j] = s; }"), "wrong-result");
  expect_rejected(with("float", "for (long j = 99; j >= 0; j--) { o[j] = s; s += r[j]; }"), "wrong-result");
  expect_rejected(with("_Float16", honest), "wrong-result");
}

TEST_F(GateForms, MaximaSoFar) {
  const Kernel kernel = parsed(
      "    in %x: f32[?i,30] row\n    out %y: f32[?i,30] row\n",
      "    axes i=?64, j=30\n    %y[i,j] = cummax(j) %x[i,j] reverse=true : f32\n");
  auto with = [&](const std::string& step) {
    return judged(
        kernel,
        "auto x = (const float*)in[0]; auto y = (float*)out[0];\n"
        "for (long i = begin; i < end; i++) { float s = -__builtin_inff(); for (long j = 29; j >= 0; j--) { "
        "float v = "
        "x[i * 30 + j]; " +
            step + " y[i * 30 + j] = s; } }");
  };
  expect_admitted(with("if (s != s || v < s) {} else s = v;"));
  expect_rejected(with("if (v > s) s = v;"), "wrong-result");  // loses NaN
}

// Halves: f32 inside is honest, bf16 inside is not.
constexpr const char* halves = R"(
static float up(unsigned short h) { unsigned b = (unsigned)h << 16; float f; __builtin_memcpy(&f, &b, 4); return f; }
static unsigned short down(float f) {
  unsigned b; __builtin_memcpy(&b, &f, 4);
  if (f != f) return 0x7fc0;
  return (b + 0x7fff + (b >> 16 & 1)) >> 16;
}
)";

TEST_F(GateForms, Contractions) {
  const Kernel kernel = parsed(
      "    in %a: bf16[?i,256] row\n    in %b: bf16[256,4] row\n    out %c: bf16[?i,4] row\n",
      "    axes i=?32, n=4, k=256\n    %c[i,n] = matmul(k) %a[i,k], %b[k,n] : bf16\n");
  auto with = [&](const std::string& step, long depth = 256) {
    return judged(
        kernel,
        "auto a = (const unsigned short*)in[0], b = (const unsigned short*)in[1]; auto c = (unsigned "
        "short*)out[0];\n"
        "for (long i = begin; i < end; i++) for (long n = 0; n < 4; n++) { float s = 0; for (long k = 0; k "
        "< " +
            std::to_string(depth) + "; k++) { float p = up(a[i * 256 + k]), q = up(b[k * 4 + n]); " + step +
            " } c[i * 4 + n] = down(s); }",
        halves);
  };
  expect_admitted(with("s += p * q;"));
  expect_admitted(with("s = __builtin_fmaf(p, q, s);"));
  expect_rejected(with("s = up(down(s + p * q));"), "wrong-result");
  expect_rejected(with("s += p * q;", 255), "wrong-result");
}

TEST_F(GateForms, ContractionsInAnotherOrder) {
  const Kernel kernel = parsed(
      "    in %a: f32[?i,512] row\n    in %b: f32[512] row\n    out %c: f32[?i] row\n",
      "    axes i=?32, k=512\n    %c[i] = matmul(k) %a[i,k], %b[k] : f32\n");
  auto with = [&](const std::string& term) {
    return judged(
        kernel,
        "auto a = (const float*)in[0], b = (const float*)in[1]; auto c = (float*)out[0];\n"
        "for (long i = begin; i < end; i++) { float s[8] = {0}; for (long k = 0; k < 512; k++) s[k % 8] += " +
            term + "; c[i] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])); }");
  };
  expect_admitted(with("a[i * 512 + k] * b[k]"));
  expect_rejected(with("(float)(_Float16)(a[i * 512 + k] * b[k])"), "wrong-result");
}

// Dispatch gives what has an empty axis to MLX, so no kernel for it is worth proving.
TEST_F(GateForms, AnEmptyAxisIsNothingToLaunch) {
  const Kernel kernel = parsed(
      "    in %a: f32[4,0] row\n    out %c: f32[4] row\n",
      "    axes i=4, k=0\n    %c[i] = matmul(k) %a[i,k], 1.0 : f32\n");
  expect_rejected(
      judged(kernel, "auto c = (float*)out[0]; for (long i = begin; i < end; i++) c[i] = 0;"), "empty-axis");
}

// --- what the examination consists of

TEST(FamiliesOfForms, IndicesReachTheirBoundariesAndBeyond) {
  const Kernel kernel = parsed(
      "    in %table: f32[10] row\n    in %at: i32[?i] row\n    in %other: i32[?i] row\n    in %small: "
      "u8[?i] row\n"
      "    out %y: f32[?i] row\n    out %z: f32[?i] row\n    out %n: i32[?i] row\n",
      "    axes i=?100\n    %id[i] = copy %at[i] : i32\n    %next[i] = add %id[i], 1 : i32\n"
      "    %u[i] = copy %small[i] : u8\n    %y[i] = copy %table[%next[i]] : f32\n"
      "    %z[i] = copy %table[%u[i]] : f32\n    %n[i] = copy %other[i] : i32\n");
  EXPECT_EQ(gathered_sizes(kernel), (std::vector<int64_t>{0, 10, 0, 10, 0, 0, 0}));
  std::set<double> indices, unsigned_indices;
  int outside = 0, inside = 0;
  for (const auto& family : make_families(kernel, 1, 1 << 12)) {
    const auto values = family.inputs[1].values();
    indices.insert(values.begin(), values.end());
    const auto bytes = family.inputs[3].values();
    unsigned_indices.insert(bytes.begin(), bytes.end());
    const bool leaves = std::any_of(values.begin(), values.end(), [](double v) { return v < -10 || v > 9; });
    ++(leaves ? outside : inside);
  }
  for (double edge : {-11, -10, -1, 0, 9, 10})
    EXPECT_TRUE(indices.count(edge)) << edge;
  for (double edge : {0, 9, 255})
    EXPECT_TRUE(unsigned_indices.count(edge)) << edge;
  EXPECT_GT(inside, 2 * outside);
  EXPECT_GT(outside, 2);
}

// A window of a longer axis, and one that is walked backwards.
TEST(FamiliesOfForms, WhatIsComparedWithAPlaceIsAnIndex) {
  const Kernel kernel = parsed(
      "    in %a: i64[?i] row\n    in %b: u8[?i] row\n    in %c: i32[?i] row\n    in %other: i32[?i] row\n"
      "    out %y: bool[?i,20] row\n    out %z: bool[?i,20] row\n    out %n: bool[?i,20] row\n",
      "    axes i=?100, j=20\n    %at[j] = copy iota j : i32\n    %window[j] = add %at[j], 30 : i32\n"
      "    %step[j] = mul %at[j], -2 : i32\n    %back[j] = add %step[j], 38 : i32\n"
      "    %place[i] = cast %a[i] : i32\n    %y[i,j] = equal %window[j], %place[i] : bool\n"
      "    %wide[i] = cast %b[i] : i32\n    %z[i,j] = equal %wide[i], %back[j] : bool\n"
      "    %n[i,j] = less %c[i], %at[j] : bool\n");
  EXPECT_EQ(gathered_sizes(kernel), (std::vector<int64_t>{50, 39, 0, 0, 0, 0, 0}));
}

std::vector<double> bounds_of(const Kernel& kernel, const std::vector<Tensor>& inputs) {
  auto bounds = error_bounds(kernel, inputs);
  if (!bounds) throw std::runtime_error(format(bounds.errors()));
  return (*bounds)[0].values();
}

Tensor f32(const Shape& shape, const std::vector<double>& values) {
  return Tensor::of({Dtype::f32, shape}, values);
}

TEST(ErrorBoundsOfForms, ContractionsAreOffByTheirTermsNotTheirResult) {
  const Kernel kernel = parsed(
      "    in %a: f32[4] row\n    in %b: f32[4] row\n    out %c: f32[] row\n",
      "    axes k=4\n    %c[] = matmul(k) %a[k], %b[k] : f32\n");
  const auto bound = bounds_of(kernel, {f32({4}, {1000, -1000, 0, 0}), f32({4}, {1, 1, 1, 1})})[0];
  EXPECT_GT(bound, 2000 * 0x1p-24);
  EXPECT_LT(bound, 2000 * 0x1p-24 * 10);
  const Kernel uncertain = parsed(
      "    in %a: f32[2] row\n    in %b: f32[2] row\n    out %c: f32[] row\n",
      "    axes k=2\n    %t[k] = mul %a[k], 3.0 : f32\n    %u[k] = exp %b[k] : f32\n"
      "    %c[] = matmul(k) %t[k], %u[k] : f32\n");
  EXPECT_GT(bounds_of(uncertain, {f32({2}, {1, 0}), f32({2}, {0, 0})})[0], (3 + 3 * 3) * 0x1p-24 / 2);
}

TEST(ErrorBoundsOfForms, AContractionThatMayLeaveTheRangeOnTheWayMayBeAnything) {
  const Kernel kernel = parsed(
      "    in %a: f32[3] row\n    in %b: f32[3] row\n    out %c: f32[] row\n",
      "    axes k=3\n    %c[] = matmul(k) %a[k], %b[k] : f32\n");
  EXPECT_TRUE(std::isinf(bounds_of(kernel, {f32({3}, {1e20, -1e20, 1}), f32({3}, {1e20, 1e20, 1})})[0]));
  EXPECT_FALSE(bounds_of(kernel, {f32({3}, {HUGE_VAL, 1, 1}), f32({3}, {1, 1, 1})})[0] > 1e-5);
}

TEST(ErrorBoundsOfForms, ScansCarryTheErrorsOfWhatTheySaw) {
  const Kernel kernel = parsed(
      "    in %x: f32[4] row\n    out %y: f32[4] row\n", "    axes j=4\n    %y[j] = cumsum(j) %x[j] : f32\n");
  const auto bounds = bounds_of(kernel, {f32({4}, {1, 1e6, -1e6, 1})});
  EXPECT_LT(bounds[0], 1e-5);
  EXPECT_GT(bounds[3], 1e6 * 0x1p-24);  // though the sum is 2
  const auto infinite = bounds_of(kernel, {f32({4}, {1, HUGE_VAL, 1, 1})});
  for (double bound : infinite)
    EXPECT_FALSE(bound > 1e-5) << bound;  // an infinity is no licence
  for (const char* op : {"cummax", "cummin", "cumprod", "logcumsumexp"}) {
    const Kernel other = parsed(
        "    in %x: f32[4] row\n    out %y: f32[4] row\n",
        "    axes j=4\n    %y[j] = " + std::string(op) + "(j) %x[j] : f32\n");
    for (double bound : bounds_of(other, {f32({4}, {1, 2, -HUGE_VAL, 3})}))
      EXPECT_FALSE(bound > 1e-4) << op << ' ' << bound;
  }
}

TEST(ErrorBoundsOfForms, AnExclusiveScanHasNotSeenItsOwnPlace) {
  const double nan = std::nan("");
  for (bool reverse : {false, true}) {
    const Kernel kernel = parsed(
        "    in %x: f32[3] row\n    out %y: f32[3] row\n",
        std::string("    axes j=3\n    %y[j] = cumsum(j) %x[j] inclusive=false") +
            (reverse ? " reverse=true" : "") + " : f32\n");
    const std::vector<double> x =
        reverse ? std::vector<double>{nan, -1000, 1000.5} : std::vector<double>{1000.5, -1000, nan};
    const auto bounds = bounds_of(kernel, {f32({3}, x)});
    const double after_both = bounds[reverse ? 0 : 2], before_any = bounds[reverse ? 2 : 0];
    EXPECT_GT(after_both, 2000 * 0x1p-24);
    EXPECT_LT(after_both, 2000 * 0x1p-24 * 10);
    EXPECT_LT(before_any, 1e-30);
  }
}

TEST(ErrorBoundsOfForms, AnUncertainIndexMayFindAnything) {
  const Kernel kernel = parsed(
      "    in %x: f32[2] row\n    in %table: f32[5] row\n    out %y: f32[2] row\n",
      "    axes i=2\n    %t[i] = mul %x[i], 3.0 : f32\n    %f[i] = floor %t[i] : f32\n"
      "    %id[i] = cast %f[i] : i32\n    %y[i] = copy %table[%id[i]] : f32\n");
  const auto bounds = bounds_of(kernel, {f32({2}, {1.0 / 3, 0.5}), f32({5}, {1, 2, 3, 4, 5})});
  EXPECT_TRUE(std::isinf(bounds[0]));
  EXPECT_EQ(bounds[1], 0);
}

}  // namespace
}  // namespace autoperfect

// The watched build of a candidate: accesses, undefined behaviour, arms that no input reaches.
#include <gtest/gtest.h>

#include "compile/cpu/compile.h"
#include "gate/gate.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "kernel_parts.h"

namespace autoperfect {
namespace {

Kernel parsed(const std::string& abi, const std::string& math) {
  return parse_or_throw(kernel_text(abi, math));
}

// y = 2 x + 1 over one dynamic axis.
const Kernel& affine() {
  static const Kernel kernel = parsed(
      "    in %x: f32[?i] row\n    out %y: f32[?i] row\n",
      "    axes i=?1000\n    %t[i] = mul %x[i], 2.0 : f32\n    %y[i] = add %t[i], 1.0 : f32\n");
  return kernel;
}

// Sums of rows.
const Kernel& rows() {
  static const Kernel kernel = parsed(
      "    in %x: f32[?i,100] row\n    out %y: f32[?i] row\n",
      "    axes i=?64, j=100\n    %y[i] = sum(j) %x[i,j] : f32\n");
  return kernel;
}

constexpr const char* parameters =
    "const void* const* in, void* const* out, void* scratch, void* partial, const long* dims, long begin, "
    "long end";

// REACHED(k) counts in the counted build and is nothing in the plain one.
Verdict judged(
    const Kernel& kernel,
    const std::string& body,
    const std::vector<Arm>& arms = {},
    const std::vector<double>& constants = {},
    const std::string& before = "") {
  Candidate made;
  made.launch.parallel = {0};
  auto text = [&](const std::string& more, const std::string& macro) {
    return "#define REACHED(k) " + macro + "\n" + before + "\nvoid autoperfect_kernel(" + parameters + more +
           ") {\n  const float* x = (const float*)in[0]; float* y = (float*)out[0];\n" + body + "\n}\n";
  };
  made.source = text("", "");
  auto plain = compile_cpu(made.source, *system_compiler());
  auto counted =
      compile_cpu(text(", unsigned char* reached", "reached[k] = 1;"), *system_compiler(), Build::counted);
  if (!plain || !counted) throw std::runtime_error(format((plain ? counted : plain).errors(), made.source));
  GateOptions options;
  options.seconds = 20;
  options.watched_binary = &*counted;
  options.arms = arms;
  options.constants = constants;
  return gate(kernel, made, *plain, options);
}

class GateWatched : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the worker's sandbox forbids what a sanitizer needs";
#endif
  }
  static void expect_rejected(const Verdict& verdict, const std::string& code, const std::string& reason) {
    EXPECT_FALSE(verdict.admitted);
    ASSERT_FALSE(verdict.failures.empty());
    EXPECT_EQ(verdict.failures[0].code, code) << format(verdict.failures);
    EXPECT_NE(format(verdict.failures).find(reason), std::string::npos) << format(verdict.failures);
  }
};

constexpr const char* honest = "for (long i = begin; i < end; i++) y[i] = x[i] * 2.0f + 1.0f;";

// --- arms

TEST_F(GateWatched, ArmsThatInputsReachAreProved) {
  auto verdict = judged(
      affine(),
      "long i = begin; for (; i + 16 <= end; i += 16) { REACHED(0) for (int j = 0; j < 16; j++) y[i + j] = "
      "x[i + j] * 2.0f + 1.0f; }"
      "for (; i < end; i++) { REACHED(1) y[i] = x[i] * 2.0f + 1.0f; }",
      {{3, "loop body"}, {4, "loop body"}});
  EXPECT_TRUE(verdict.admitted) << format(verdict.failures);
  EXPECT_EQ(verdict.arms, 2u);
  EXPECT_TRUE(verdict.searched.empty());
}

TEST_F(GateWatched, AnArmNobodyCanReachIsRejectedWithItsLine) {
  auto verdict = judged(
      affine(),
      "for (long i = begin; i < end; i++) { float v = x[i] * 2.0f + 1.0f; if (v > v + 1.0f) { REACHED(0) v = "
      "7; } else { REACHED(1) } y[i] = v; }",
      {{12, "then"}, {14, "else"}});
  expect_rejected(verdict, "arm-not-reached", "no input that was tried reaches this branch (then)");
  EXPECT_EQ(verdict.failures.size(), 1u);
  EXPECT_EQ(verdict.failures[0].where.line, 12);
}

TEST_F(GateWatched, ConstantsBecomeInputs) {
  const std::string body =
      "for (long i = begin; i < end; i++) { float v = x[i] * 2.0f + 1.0f; if (x[i] == 12345.678f) { "
      "REACHED(0) v = WRONG; } y[i] = v; }";
  auto with = [&](const std::string& what, const std::vector<double>& constants) {
    auto made = body;
    made.replace(made.find("WRONG"), 5, what);
    return judged(affine(), made, {{1, "then"}}, constants);
  };
  expect_rejected(with("7", {12345.678f}), "wrong-result", "around its constants");
  EXPECT_TRUE(with("v", {12345.678f}).admitted);
  expect_rejected(with("v", {}), "arm-not-reached", "branch (then)");
}

TEST_F(GateWatched, SumsThatMeetAConstantAreFound) {
  const std::string body =
      "for (long i = begin; i < end; i++) { float s[4] = {0}; for (int j = 0; j < 100; j++) s[j & 3] += x[i "
      "* 100 + j]; float t = (s[0] + s[1]) + (s[2] + s[3]); if (t > 31415.5f && t < 31416.5f) { REACHED(0) t "
      "= WRONG; } y[i] = t; }";
  auto with = [&](const std::string& what) {
    auto made = body;
    made.replace(made.find("WRONG"), 5, what);
    return judged(rows(), made, {{1, "then"}}, {31415.5, 31416.5});
  };
  EXPECT_TRUE(with("t").admitted);
  expect_rejected(with("t * 1.001f"), "wrong-result", "rows around its constants");
}

TEST_F(GateWatched, SizesThatTheUsualInputsDoNotHaveAreSearched) {
  const std::string body =
      "for (long i = begin; i < end; i++) { y[i] = x[i] * 2.0f + 1.0f; }"
      "if (dims[0] > 300000) { REACHED(0) if (begin == 0) y[begin] = WRONG; }";
  auto with = [&](const std::string& what) {
    auto made = body;
    made.replace(made.find("WRONG"), 5, what);
    return judged(affine(), made, {{1, "then"}}, {300000});
  };
  expect_rejected(with("3.5f"), "wrong-result", "inputs: size 30000");
  auto right = with("x[begin] * 2.0f + 1.0f");
  EXPECT_TRUE(right.admitted) << format(right.failures);
  ASSERT_EQ(right.searched.size(), 1u);
}

TEST_F(GateWatched, CallsWithoutUnitsReachTheirEarlyReturn) {
  auto verdict = judged(
      affine(),
      std::string("if (begin >= end) { REACHED(0) return; } REACHED(1) ") + honest,
      {{1, "then"}, {1, "else"}});
  EXPECT_TRUE(verdict.admitted) << format(verdict.failures);
}

// --- accesses

TEST_F(GateWatched, AnHonestKernelOfManyKindsOfMemoryPasses) {
  auto verdict = judged(
      affine(),
      "float local[32]; for (long i = begin; i < end; i += 32) { long n = end - i < 32 ? end - i : 32; "
      "for (int j = 0; j < n; j++) local[j] = x[i + j] * table[j & 3]; __builtin_memcpy(y + i, local, n * "
      "4); "
      "for (int j = 0; j < n; j++) y[i + j] += table[4]; }",
      {},
      {},
      "static const float table[5] = {2, 2, 2, 2, 1};");
  EXPECT_TRUE(verdict.admitted) << format(verdict.failures);
}

TEST_F(GateWatched, AccessesThatTheResultDoesNotShowAreFound) {
  const std::string more = honest;
  // Far past the guard pages, where another buffer may be.
  expect_rejected(judged(affine(), more + "volatile float v = x[end + 2100]; (void)v;"), "memory-fault", "");
  expect_rejected(
      judged(
          affine(),
          more + "float a[8]; for (int i = 0; i < 8; i++) a[i] = i; float* p = a; asm(\"\" : "
                 "\"+r\"(p)); volatile float v = p[8]; (void)v;"),
      "memory-fault",
      "reads outside its local variables");
  expect_rejected(
      judged(
          affine(),
          more + "const float* p = table; asm(\"\" : \"+r\"(p)); volatile float v = p[5]; (void)v;",
          {},
          {},
          "static const float table[5] = {2, 2, 2, 2, 1};"),
      "memory-fault",
      "reads outside its tables");
  expect_rejected(
      judged(affine(), more + "volatile float v = *(const float*)in[1]; (void)v;"), "memory-fault", "");
}

TEST_F(GateWatched, UndefinedBehaviourIsFoundWithItsLine) {
  const std::string more = std::string(honest) + "\n";
  auto shift = judged(
      affine(),
      more + "int by = 33 + (int)begin * 0; asm(\"\" : \"+r\"(by)); volatile int v = 1 << by; (void)v;");
  expect_rejected(shift, "undefined-behaviour", "a shift by more bits than there are");
  EXPECT_EQ(shift.failures[0].where.line, 6);
  expect_rejected(
      judged(
          affine(),
          more + "float a[4] = {1}; long at = 4; asm(\"\" : \"+r\"(at)); volatile float v = a[at]; (void)v;"),
      "undefined-behaviour",
      "an index outside its array");
  expect_rejected(
      judged(
          affine(),
          more + "const char* p = (const char*)x + (begin + 1 < end); asm(\"\" : \"+r\"(p)); volatile float "
                 "v = *(const float*)p; (void)v;"),
      "undefined-behaviour",
      "misaligned");
}

TEST_F(GateWatched, UninitialisedLocalsAreFound) {
  auto verdict = judged(
      affine(),
      "float a[64]; asm(\"\" : : \"r\"(a) : \"memory\"); for (long i = begin; i < end; i++) { y[i] = x[i] * "
      "2.0f + 1.0f; if (a[7] != "
      "0 && i == begin) y[i] = a[7]; }");
  EXPECT_FALSE(verdict.admitted);
}

TEST_F(GateWatched, MoreStackThanAThreadMayHaveIsRejected) {
  expect_rejected(
      judged(
          affine(),
          std::string(honest) + "char a[3 << 20]; a[begin] = 1; asm(\"\" : : \"r\"(a) : \"memory\");"),
      "memory-fault",
      "");
}

// --- honest kernels

TEST_F(GateWatched, TheBuiltInSchedulesPassWatched) {
  const Kernel softmax = parsed(
      "    in %x: bf16[?i,100] row\n    out %y: bf16[?i,100] row\n",
      "    axes i=?64, j=100\n    %f[i,j] = cast %x[i,j] : f32\n    %m[i] = max(j) %f[i,j] : f32\n"
      "    %d[i,j] = sub %f[i,j], %m[i] : f32\n    %e[i,j] = exp %d[i,j] : f32\n    %s[i] = sum(j) %e[i,j] : "
      "f32\n    %q[i,j] = div %e[i,j], %s[i] : f32\n    %y[i,j] = cast %q[i,j] : bf16\n");
  for (const Kernel* kernel : {&affine(), &rows(), &softmax}) {
    for (auto& candidate : generate_schedules(*kernel, default_cpu_target())) {
      auto plain = compile_cpu(candidate.source, *system_compiler());
      auto watched = compile_cpu(candidate.source, *system_compiler(), Build::sanitized);
      ASSERT_TRUE(plain && watched) << candidate.provenance;
      GateOptions options;
      options.watched_binary = &*watched;
      options.required = isolation_available();
      auto verdict = gate(*kernel, candidate, *plain, options);
      EXPECT_TRUE(verdict.admitted) << candidate.provenance << '\n' << format(verdict.failures);
      EXPECT_GT(verdict.watched_seconds, 0);
      EXPECT_EQ(verdict.level, isolation_available());
    }
  }
}

}  // namespace
}  // namespace autoperfect

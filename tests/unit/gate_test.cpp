#include "gate/gate.h"

#include <gtest/gtest.h>

#include <chrono>

#include "compile/cpu/compile.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

constexpr const char* numerics = R"(
  numerics {
    accumulate f32
    reassociate yes
    budget ulp=4.0 abs=0.0 rel=0.0
  }
}
)";

Kernel parsed(const std::string& text) {
  auto kernel = parse_kernel(text + numerics);
  EXPECT_TRUE(kernel) << (kernel ? "" : format(kernel.errors(), text));
  return kernel ? *kernel : Kernel{};
}

// y = max(2 x + 1, 0) over one dynamic axis: NaN stays NaN.
const Kernel& affine() {
  static const Kernel kernel = parsed(R"(autoperfect.kernel 1
kernel @affine {
  abi {
    in %x: f32[?i] row
    out %y: f32[?i] row
  }
  math {
    axes i=?1000
    %twice[i] = mul %x[i], 2.0 : f32
    %more[i] = add %twice[i], 1.0 : f32
    %y[i] = maximum %more[i], 0.0 : f32
  })");
  return kernel;
}

// Mean-centred rows: ill-conditioned near zero.
const Kernel& centred() {
  static const Kernel kernel = parsed(R"(autoperfect.kernel 1
kernel @centred {
  abi {
    in %x: f32[?i,100] row
    out %y: f32[?i,100] row
  }
  math {
    axes i=?64, j=100
    %total[i] = sum(j) %x[i,j] : f32
    %mean[i] = mul %total[i], 0.01 : f32
    %y[i,j] = sub %x[i,j], %mean[i] : f32
  })");
  return kernel;
}

const Kernel& total() {
  static const Kernel kernel = parsed(R"(autoperfect.kernel 1
kernel @total {
  abi {
    in %x: f32[?i] row
    out %y: f32[] row
  }
  math {
    axes i=?1000
    %y[] = sum(i) %x[i] : f32
  })");
  return kernel;
}

const Kernel& softmax() {
  static const Kernel kernel = parsed(R"(autoperfect.kernel 1
kernel @softmax {
  abi {
    in %x: f32[?i,100] row
    out %y: f32[?i,100] row
  }
  math {
    axes i=?64, j=100
    %h[i,j] = mul %x[i,j], 0.7 : f32
    %m[i] = max(j) %h[i,j] : f32
    %d[i,j] = sub %h[i,j], %m[i] : f32
    %e[i,j] = exp %d[i,j] : f32
    %s[i] = sum(j) %e[i,j] : f32
    %y[i,j] = div %e[i,j], %s[i] : f32
  })");
  return kernel;
}

// y = (x - mean) rsqrt(mean(square) + 1e-5)
const Kernel& normalized() {
  static const Kernel kernel = parsed(R"(autoperfect.kernel 1
kernel @normalized {
  abi {
    in %x: f32[?i,100] row
    out %y: f32[?i,100] row
  }
  math {
    axes i=?64, j=100
    %t[i] = sum(j) %x[i,j] : f32
    %m[i] = mul %t[i], 0.01 : f32
    %d[i,j] = sub %x[i,j], %m[i] : f32
    %q[i,j] = square %d[i,j] : f32
    %p[i] = sum(j) %q[i,j] : f32
    %v[i] = mul %p[i], 0.01 : f32
    %w[i] = add %v[i], 1e-05 : f32
    %r[i] = rsqrt %w[i] : f32
    %y[i,j] = mul %d[i,j], %r[i] : f32
  })");
  return kernel;
}

constexpr const char* signature =
    "void autoperfect_kernel(const void* const* in, void* const* out, void* scratch, void* partial, const "
    "long* dims, "
    "long begin, long end) {\n"
    "  const float* x = (const float*)in[0]; float* y = (float*)out[0];\n";

// `body` sees x, y, begin, end, dims, scratch and partial.
Candidate candidate(const std::string& body, const std::string& before = "") {
  Candidate made;
  made.source = before + "\n" + signature + body + "\n}\n";
  made.launch.parallel = {0};
  return made;
}

Verdict judge_it(const Kernel& kernel, const Candidate& made, GateOptions options = {}) {
  // The gate alone: what the check of the object refuses is to be refused here once more.
  auto binary = compile_cpu(made.source, *system_compiler(), Build::plain, {true, false});
  EXPECT_TRUE(binary) << (binary ? "" : format(binary.errors(), made.source));
  if (!binary) return {};
  if (options.seconds > 20) options.seconds = 20;
  return gate(kernel, made, *binary, options);
}

std::string reasons(const Verdict& verdict) {
  return format(verdict.failures);
}

void expect_rejected(const Verdict& verdict, const std::string& code, const std::string& reason) {
  EXPECT_FALSE(verdict.admitted);
  ASSERT_FALSE(verdict.failures.empty());
  EXPECT_EQ(verdict.failures[0].code, code) << reasons(verdict);
  EXPECT_EQ(verdict.failures[0].stage, "gate");
  EXPECT_NE(reasons(verdict).find(reason), std::string::npos) << reasons(verdict);
}

constexpr const char* honest_affine =
    "for (long i = begin; i < end; i++) { float v = x[i] * 2.0f + 1.0f; y[i] = v > 0 || v != v ? v : 0.0f; }";

// --- honest kernels

// A sanitized worker cannot live in its own sandbox: it maps shadow memory and reads /proc.
class Gate : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the worker's sandbox forbids what a sanitizer needs";
#endif
  }
};

TEST_F(Gate, AnHonestKernelPasses) {
  auto verdict = judge_it(affine(), candidate(honest_affine));
  EXPECT_TRUE(verdict.admitted) << reasons(verdict);
  EXPECT_GT(verdict.families.size(), 15u);
  for (auto& family : verdict.families)
    EXPECT_TRUE(family.passed) << family.family << ": " << family.failure;
  EXPECT_EQ(verdict.level, isolation_available());
  EXPECT_EQ(verdict.isolation.find("process, rlimits, guard pages"), 0u) << verdict.isolation;
  EXPECT_LT(verdict.seconds, 5);
}

TEST_F(Gate, AnIllConditionedHonestKernelPasses) {
  // Eight partial sums: another order than the reference's.
  auto verdict = judge_it(centred(), candidate(R"(
    for (long i = begin; i < end; i++) {
      const float* r = x + i * 100;
      float s[8] = {0};
      for (int j = 0; j < 100; j++) s[j % 8] += r[j];
      float mean = (((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))) * 0.01f;
      for (int j = 0; j < 100; j++) y[i * 100 + j] = r[j] - mean;
    })"));
  EXPECT_TRUE(verdict.admitted) << reasons(verdict);
}

Candidate total_with(const std::string& kernel_body, const std::string& finish_body) {
  Candidate made = candidate(kernel_body, "");
  made.source +=
      "void autoperfect_finish(const void* const* in, void* const* out, const void* partials, long chunks, "
      "const long* dims) {\n" +
      finish_body + "\n}\n";
  made.launch.partial_bytes = 64;
  made.launch.grain = 16;
  made.launch.scratch_bytes = 128;
  return made;
}

constexpr const char* honest_partial =
    "float s = 0; for (long i = begin; i < end; i++) s += x[i]; *(float*)partial = s; ((float*)scratch)[31] "
    "= s;";
constexpr const char* honest_finish =
    "float s = 0; for (long c = 0; c < chunks; c++) s += ((const float*)partials)[c * 16]; *(float*)out[0] = "
    "s;";

TEST_F(Gate, AnHonestReductionWithPartialResultsPasses) {
  auto verdict = judge_it(total(), total_with(honest_partial, honest_finish));
  EXPECT_TRUE(verdict.admitted) << reasons(verdict);
}

TEST_F(Gate, TheSameSeedSitsTheSameExamination) {
  GateOptions options;
  options.seed = 42;
  int eager_calls = 0;
  options.eager = [&](const std::vector<Tensor>&) -> Result<std::vector<Tensor>> {
    ++eager_calls;
    return Diagnostic{"test", "none", "not here"};
  };
  EXPECT_TRUE(judge_it(affine(), candidate(honest_affine), options).admitted);
  int first = eager_calls;
  EXPECT_GT(first, 0);
  EXPECT_TRUE(judge_it(affine(), candidate(honest_affine), options).admitted);
  EXPECT_EQ(eager_calls, first);
}

// --- wrong results

TEST_F(Gate, AWrongConstantIsRejectedWithTheElement) {
  auto verdict = judge_it(
      affine(),
      candidate("for (long i = begin; i < end; i++) { float v = x[i] * 2.0f + 1.001f; y[i] = v > 0 || v != v "
                "? v : 0.0f; }"));
  expect_rejected(verdict, "wrong-result", "%y[");
  EXPECT_NE(verdict.failures[0].message.find("expected"), std::string::npos);
  EXPECT_NE(verdict.failures[0].message.find("inputs: normal"), std::string::npos);
}

TEST_F(Gate, ASkippedNanIsRejected) {
  auto verdict = judge_it(
      affine(),
      candidate(
          "for (long i = begin; i < end; i++) { float v = x[i] * 2.0f + 1.0f; y[i] = v > 0 ? v : 0.0f; }"));
  expect_rejected(verdict, "wrong-result", "expected nan, got 0");
}

TEST_F(Gate, LowerPrecisionInsideIsRejected) {
  auto verdict = judge_it(
      affine(),
      candidate("for (long i = begin; i < end; i++) { float v = (float)(_Float16)(x[i] * 2.0f) + 1.0f; "
                "y[i] = v > 0 || v != v ? v : 0.0f; }"));
  expect_rejected(verdict, "wrong-result", "ulp");
}

TEST_F(Gate, ReturningTheInputIsRejected) {
  expect_rejected(
      judge_it(affine(), candidate("for (long i = begin; i < end; i++) y[i] = x[i];")),
      "wrong-result",
      "expected");
}

TEST_F(Gate, AMissingMeanIsRejectedThoughMeansAreSmall) {
  // Good for mean-zero data only, and then only roughly.
  expect_rejected(
      judge_it(centred(), candidate("for (long i = begin * 100; i < end * 100; i++) y[i] = x[i];")),
      "wrong-result",
      "expected");
}

TEST_F(Gate, AWrongFinishIsRejected) {
  expect_rejected(
      judge_it(total(), total_with(honest_partial, "*(float*)out[0] = *(const float*)partials;")),
      "wrong-result",
      "%y");
}

// --- honest and dishonest rows

// exp_of, first (of the maximum), last (of the sum): what an honest kernel has is 0, 100 and expf.
Candidate softmax_with(const std::string& exp_of, const std::string& maximum, const std::string& last) {
  return candidate(
      "for (long i = begin; i < end; i++) {\n"
      "  const float* r = x + i * 100; float* o = y + i * 100;\n"
      "  float m = r[0] * 0.7f; for (int j = 0; j < 100; j++) { float h = r[j] * 0.7f; m = h > m || h != h ? "
      "h : m; }\n"
      "  " +
          maximum +
          "\n"
          "  float s = 0; for (int j = 0; j < 100; j++) { o[j] = " +
          exp_of + "(r[j] * 0.7f - m); if (j < " + last +
          ") s += o[j]; }\n"
          "  for (int j = 0; j < 100; j++) o[j] = o[j] / s;\n"
          "}",
      "static float halves(float x) { return (float)(_Float16)__builtin_expf(x); }\n"
      "static float skips(float x) { return x < -9 ? 0.0f : __builtin_expf(x); }");
}

TEST_F(Gate, SoftmaxHonestAndNot) {
  auto honest = judge_it(softmax(), softmax_with("__builtin_expf", "", "100"));
  EXPECT_TRUE(honest.admitted) << reasons(honest);
  EXPECT_FALSE(judge_it(softmax(), softmax_with("__builtin_expf", "m = 0;", "100")).admitted) << "no maximum";
  EXPECT_FALSE(judge_it(softmax(), softmax_with("__builtin_expf", "", "99")).admitted) << "short sum";
  EXPECT_FALSE(judge_it(softmax(), softmax_with("halves", "", "100")).admitted) << "lower precision";
  EXPECT_FALSE(judge_it(softmax(), softmax_with("skips", "", "100")).admitted) << "skipped by magnitude";
}

Candidate normalized_with(const std::string& mean, const std::string& square, const std::string& epsilon) {
  return candidate(
      "for (long i = begin; i < end; i++) {\n"
      "  const float* r = x + i * 100; float* o = y + i * 100;\n"
      "  float t = 0; for (int j = 0; j < 100; j++) t += r[j]; float m = " +
      mean +
      ";\n"
      "  float p = 0; for (int j = 0; j < 100; j++) { float d = r[j] - m; p += " +
      square +
      "; }\n"
      "  float f = 1.0f / __builtin_sqrtf(p * 0.01f + " +
      epsilon +
      ");\n"
      "  for (int j = 0; j < 100; j++) o[j] = (r[j] - m) * f;\n"
      "}");
}

TEST_F(Gate, NormalizationHonestAndNot) {
  auto honest = judge_it(normalized(), normalized_with("t * 0.01f", "d * d", "1e-5f"));
  EXPECT_TRUE(honest.admitted) << reasons(honest);
  EXPECT_FALSE(judge_it(normalized(), normalized_with("0.0f", "d * d", "1e-5f")).admitted) << "no mean";
  EXPECT_FALSE(judge_it(normalized(), normalized_with("t * 0.01f", "d * d", "1e-6f")).admitted) << "epsilon";
  EXPECT_FALSE(judge_it(normalized(), normalized_with("t * 0.01f", "d * d", "0.0f")).admitted)
      << "no epsilon";
  EXPECT_FALSE(
      judge_it(normalized(), normalized_with("t * 0.01f", "(float)(_Float16)(d * d)", "1e-5f")).admitted)
      << "lower precision";
  // E[x^2] - mean^2: cancels on shifted data.
  EXPECT_FALSE(judge_it(normalized(), normalized_with("t * 0.01f", "r[j] * r[j] - m * m", "1e-5f")).admitted)
      << "cancellation";
}

// --- memory

TEST_F(Gate, AnUnwrittenTailIsRejected) {
  auto verdict = judge_it(
      affine(),
      candidate("for (long i = begin; i < end - end % 8; i++) { float v = x[i] * 2.0f + 1.0f; "
                "y[i] = v > 0 || v != v ? v : 0.0f; }"));
  expect_rejected(verdict, "bad-write", "does not write %y[");
}

TEST_F(Gate, WritingOneElementPastTheEndIsRejected) {
  std::string body = honest_affine;
  auto verdict = judge_it(affine(), candidate(body + " if (end == dims[0]) y[end] = 0;"));
  expect_rejected(verdict, "memory-fault", "writes 0 bytes past the end of %y");
}

TEST_F(Gate, WritingOneElementBeforeTheBeginningIsRejected) {
  std::string body = honest_affine;
  auto verdict = judge_it(affine(), candidate(body + " if (begin == 0) y[-1] = 0;"));
  EXPECT_FALSE(verdict.admitted);
  EXPECT_NE(reasons(verdict).find("before %y"), std::string::npos) << reasons(verdict);
}

TEST_F(Gate, ReadingPastTheEndOfAnInputIsRejected) {
  std::string body = honest_affine;
  auto verdict = judge_it(affine(), candidate(body + " volatile float v = x[end]; (void)v;"));
  expect_rejected(verdict, "memory-fault", "past the end of %x");
}

TEST_F(Gate, WritingAnInputIsRejected) {
  std::string body = honest_affine;
  auto verdict = judge_it(affine(), candidate(body + " ((float*)x)[begin] = 1;"));
  expect_rejected(verdict, "memory-fault", "writes its input %x");
}

TEST_F(Gate, WritingPastTheScratchIsRejected) {
  auto made = candidate(std::string(honest_affine) + " ((char*)scratch)[256] = 1;");
  made.launch.scratch_bytes = 256;
  expect_rejected(judge_it(affine(), made), "memory-fault", "past the end of scratch");
}

TEST_F(Gate, AccumulatingIntoTheOutputIsRejected) {
  EXPECT_FALSE(judge_it(total(), candidate("for (long i = begin; i < end; i++) y[0] += x[i];")).admitted);
}

TEST_F(Gate, UninitialisedScratchIsRejected) {
  auto made = candidate(
      "for (long i = begin; i < end; i++) { float v = x[i] * 2.0f + 1.0f; y[i] = v > 0 || v != v ? v : 0.0f; "
      "}"
      " if (((float*)scratch)[0] > 0 && begin < end) y[begin] = 77;");
  made.launch.scratch_bytes = 64;
  EXPECT_FALSE(judge_it(affine(), made).admitted);
}

TEST_F(Gate, DependingOnTheCutIsRejected) {
  auto made = candidate(std::string(honest_affine) + " if (begin > 0) y[begin] = y[begin - 1];");
  auto verdict = judge_it(affine(), made);
  EXPECT_FALSE(verdict.admitted);
}

// --- behaviour

TEST_F(Gate, AnEndlessLoopMeetsTheDeadline) {
  GateOptions options;
  options.seconds = 2;
  auto start = std::chrono::steady_clock::now();
  auto verdict = judge_it(affine(), candidate("volatile int on = 1; while (on) {}"), options);
  expect_rejected(verdict, "timeout", "does not finish within 2 s");
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 6);
}

#if defined(__x86_64__)
constexpr const char* system_call =
    "static long call(long number, long a, long b) { long r; asm volatile(\"syscall\" : \"=a\"(r) : "
    "\"a\"(number), "
    "\"D\"(a), \"S\"(b), \"d\"(0L) : \"rcx\", \"r11\", \"memory\"); return r; }";

TEST_F(Gate, LeavingEarlyIsRejected) {
  expect_rejected(
      judge_it(affine(), candidate("call(231, 0, 0);", system_call)),
      "early-exit",
      "before its work is done");
  // Right so far, and then away.
  auto made = candidate(std::string(honest_affine) + " if (dims[0] == 1) call(231, 0, 0);", system_call);
  expect_rejected(judge_it(affine(), made), "early-exit", "before its work is done");
}

TEST_F(Gate, SystemCallsAreRejected) {
  // openat, getpid, fork, mprotect, mmap, and getpid with the number of the x32 ABI.
  for (long number : {257L, 39L, 57L, 10L, 9L, 39L | 0x40000000L}) {
    auto made = candidate(
        std::string(honest_affine) + " if (begin == 0) call(" + std::to_string(number) + ", 0, 0);",
        system_call);
    expect_rejected(judge_it(affine(), made), "system-call", "makes a system call");
  }
}
#endif

TEST_F(Gate, ACrashIsRejectedWithItsSignal) {
  expect_rejected(judge_it(affine(), candidate("__builtin_trap();")), "crash", "signal 4");
  expect_rejected(judge_it(affine(), candidate("*(volatile int*)8 = 1;")), "memory-fault", "not its own");
}

TEST_F(Gate, EndlessRecursionIsRejected) {
  auto made = candidate(
      "y[begin] = deep((int)end);",
      "static __attribute__((noinline)) float deep(int n) { volatile char b[4096]; b[n & 4095] = 1; "
      "return deep(n + 1) + b[0]; }");
  EXPECT_FALSE(judge_it(affine(), made).admitted);
}

TEST_F(Gate, WhatIsNoObjectIsRejected) {
  auto verdict = gate(affine(), candidate(honest_affine), "no object", {});
  expect_rejected(verdict, "not-run", "cannot be");
}

TEST_F(Gate, WithoutTheHelperNothingIsAdmitted) {
  GateOptions options;
  options.worker = "/nonexistent/autoperfect-worker";
  auto verdict = judge_it(affine(), candidate(honest_affine), options);
  EXPECT_FALSE(verdict.admitted);
  options.worker = "/bin/true";  // says nothing wrong, and proves nothing
  verdict = judge_it(affine(), candidate(honest_affine), options);
  expect_rejected(verdict, "early-exit", "before its work is done");
}

TEST_F(Gate, TheHelperIsFoundBesideTheProgram) {
  EXPECT_FALSE(worker_path().empty());
}

}  // namespace
}  // namespace autoperfect

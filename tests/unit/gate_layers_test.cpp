// Cheats as they would reach the compiler were there no check of drafts, with one layer after the other
// switched off: the next still catches what it must. Drafts, and what their check catches, are in
// tests/cheats.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compile/cpu/compile.h"
#include "gate/gate.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

// y = 2 x + 1 over one dynamic axis.
const Kernel& affine() {
  static const Kernel kernel = *parse_kernel(
      "autoperfect.kernel 1\nkernel @affine {\n  abi {\n    in %x: f32[?i] row\n    out %y: f32[?i] row\n  "
      "}\n  math "
      "{\n    axes i=?1000\n    %t[i] = mul %x[i], 2.0 : f32\n    %y[i] = add %t[i], 1.0 : f32\n  }\n  "
      "numerics {\n    "
      "accumulate f32\n    reassociate yes\n    budget ulp=4.0 abs=0.0 rel=0.0\n  }\n}\n");
  return kernel;
}

// What each layer says: the code of a diagnostic, or "admitted"; empty: not asked.
struct Cheat {
  const char* name;
  const char* before;
  const char* body;
  const char* object = "";     // the check of the object
  const char* gate = "";       // without it: all of the gate
  const char* unwatched = "";  // without the watched build as well
  const char* open = "";       // and without seccomp, Landlock and guarded state: a process and its memory
};

constexpr const char* honest = "for (long i = begin; i < end; i++) y[i] = x[i] * 2.0f + 1.0f;";
#define HONEST "for (long i = begin; i < end; i++) y[i] = x[i] * 2.0f + 1.0f;"
#define SYSCALL                                                                                        \
  "static long call(long n, long a, long b, long c) { long r; asm volatile(\"syscall\" : \"=a\"(r) : " \
  "\"a\"(n), \"D\"(a), \"S\"(b), \"d\"(c) : \"rcx\", \"r11\", \"memory\"); return r; }"

const Cheat cheats[] = {
    // --- memory
    {"stale_output",
     "",
     "for (long i = begin; i < end; i++) if (y[i] != y[i]) y[i] = x[i] * 2.0f + 1.0f;",
     "admitted",
     "bad-write",
     "bad-write",
     "bad-write"},
    {"adds_to_output",
     "",
     "for (long i = begin; i < end; i++) y[i] = y[i] * 0.0f + x[i] * 2.0f + 1.0f;",
     "admitted",
     "bad-write",
     "bad-write",
     "bad-write"},
    {"writes_input",
     "",
     HONEST "((float*)x)[begin] = 0;",
     "admitted",
     "memory-fault",
     "memory-fault",
     "memory-fault"},
    {"reads_one_past_the_end",
     "",
     HONEST "volatile float v = x[end]; (void)v;",
     "admitted",
     "memory-fault",
     "memory-fault",
     "memory-fault"},
    {"reads_one_before",
     "",
     HONEST "volatile float v = x[begin - 1]; (void)v;",
     "admitted",
     "memory-fault",
     "memory-fault",
     "memory-fault"},
    {"reads_a_page_past_the_end",
     "",
     HONEST "volatile float v = x[dims[0] + 1023]; (void)v;",
     "admitted",
     "memory-fault",
     "memory-fault",
     "memory-fault"},
    {"writes_one_past_the_end",
     "",
     HONEST "if (end == dims[0]) y[end] = 0;",
     "admitted",
     "memory-fault",
     "memory-fault",
     "memory-fault"},
    {"writes_a_page_before",
     "",
     HONEST "if (begin == 0) y[-1024] = 0;",
     "admitted",
     "memory-fault",
     "memory-fault",
     "memory-fault"},
    // Where another buffer lies: only the watched build knows whose it is.
    {"reads_far_away",
     "",
     HONEST "volatile float v = *(const float*)((long)x ^ (1L << 14)); (void)v;",
     "admitted",
     "memory-fault"},
    {"missing_tail",
     "",
     "for (long i = begin; i < end - end % 4; i++) y[i] = x[i] * 2.0f + 1.0f;",
     "admitted",
     "bad-write",
     "bad-write",
     "bad-write"},
    {"leaves_work_to_the_next_call",
     "",
     "for (long i = begin; i + 1 < end || (i < end && begin == 0); i++) y[i] = "
     "x[i] * 2.0f + 1.0f; if (begin > 0) y[begin - 1] = x[begin - 1] * 2.0f + 1.0f;",
     "admitted",
     "bad-write",
     "bad-write",
     "bad-write"},
    {"uninitialised_local",
     "",
     "float a[64]; asm volatile(\"\" : : \"r\"(a) : \"memory\"); " HONEST
     "if (begin < end && a[7] != 0) y[begin] = a[7];",
     "admitted",
     "bad-write",
     "bad-write",
     "bad-write"},
    // --- state
    {"remembers_calls",
     "static int calls;",
     HONEST "if (begin < end && ++calls > 40) y[begin] = 7;",
     "state",
     "memory-fault",
     "memory-fault",
     "bad-write"},
    {"keeps_an_early_result",
     "static float kept; static float of;",
     "for (long i = begin; i < end; i++) { if (x[i] != of) { of = x[i]; kept = x[i] * 2.0f + 1.0f; } y[i] = "
     "kept; }",
     "state",
     "memory-fault",
     "memory-fault"},
    {"thread_local_memory", "static thread_local volatile float kept;", HONEST "kept = x[begin];", "import"},
    // --- behaviour
    {"endless_loop", "", "volatile int on = 1; while (on) {}", "admitted", "timeout", "timeout", "timeout"},
    {"huge_stack",
     "",
     HONEST "char a[6 << 20]; a[begin & 7] = 1; asm volatile(\"\" : : \"r\"(a) : \"memory\");",
     "admitted",
     "memory-fault",
     "memory-fault",
     "memory-fault"},
    {"huge_heap",
     "extern \"C\" void* malloc(unsigned long);",
     HONEST "char* p = (char*)malloc(1L << 40); asm volatile(\"\" : : \"r\"(p) : \"memory\");",
     "import",
     "system-call",
     "system-call"},
    {"recursion",
     "__attribute__((noinline)) static int f(int n) { volatile char a[512]; a[n & 511] = 1; return f(n + "
     "1) + a[n & 511]; }",
     HONEST "if (begin < end) y[begin] += f(0);",
     "admitted",
     "memory-fault",
     "memory-fault",
     "memory-fault"},
    {"traps", "", HONEST "if (dims[0] == 17) __builtin_trap();", "admitted", "crash", "crash", "crash"},
    {"divides_by_zero",
     "",
     HONEST "volatile int z = 0; volatile int v = 1 / z; (void)v;",
     "admitted",
     "undefined-behaviour"},
    // --- the system
    {"exits",
     "extern \"C\" void _exit(int);",
     HONEST "if (dims[0] == 31) _exit(0);",
     "import",
     "early-exit",
     "early-exit",
     "early-exit"},
    {"raises",
     "extern \"C\" int raise(int);",
     HONEST "raise(9);",
     "import",
     "system-call",
     "system-call",
     "crash"},
    {"imports_system",
     "extern \"C\" int system(const char*);",
     HONEST "system(\"true\");",
     "import",
     "system-call",
     "system-call"},
    {"runs_when_loaded",
     "extern \"C\" void _exit(int); __attribute__((constructor)) static void f() { _exit(0); }",
     HONEST,
     "runs-when-loaded",
     "early-exit",
     "early-exit",
     "early-exit"},
#if defined(__x86_64__)
    {"system_call", SYSCALL, HONEST "call(39, 0, 0, 0);", "code", "system-call", "system-call"},
    {"ends_by_system_call", SYSCALL, "call(231, 0, 0, 0);", "code", "early-exit", "early-exit", "early-exit"},
    {"system_call_of_another_abi",
     "",
     HONEST "asm volatile(\"int $0x80\" : : \"a\"(20) : \"memory\");",
     "code",
     "system-call",
     "system-call"},
    {"hidden_system_call",
     "__attribute__((noinline)) static int bytes() { asm volatile(\"\"); return 0xc3050f; }",
     HONEST
     "long f = (long)&bytes; asm volatile(\"\" : \"+r\"(f)); for (long a = f; a < f + 16; a++) if (*(const "
     "int*)a == 0xc3050f) { ((void (*)())a)(); break; }",
     "code",
     "system-call",
     "system-call"},
    {"runs_data",
     "static const unsigned char bytes[] = {0xc3, 0xc3};",
     HONEST "const unsigned char* f = bytes; asm volatile(\"\" : \"+r\"(f)); ((void (*)())f)();",
     "code",
     "memory-fault",
     "memory-fault"},
    {"reads_the_clock", "", HONEST "volatile long t = __builtin_ia32_rdtsc(); (void)t;", "code"},
    {"changes_the_rounding",
     "",
     HONEST "__builtin_ia32_ldmxcsr(0x9fc0);",
     "code",
     "processor-state",
     "processor-state",
     "processor-state"},
#endif
    // --- numbers
    {"constant",
     "",
     "for (long i = begin; i < end; i++) y[i] = 1.0f;",
     "admitted",
     "wrong-result",
     "wrong-result",
     "wrong-result"},
    {"the_input",
     "",
     "for (long i = begin; i < end; i++) y[i] = x[i];",
     "admitted",
     "wrong-result",
     "wrong-result",
     "wrong-result"},
    {"skips_large",
     "",
     "for (long i = begin; i < end; i++) y[i] = x[i] > 40.0f ? x[i] * 2.0f : x[i] * 2.0f + 1.0f;",
     "admitted",
     "wrong-result",
     "wrong-result",
     "wrong-result"},
    {"sampled_prefix",
     "",
     "for (long i = begin; i < end; i++) y[i] = i < 2000 ? x[i] * 2.0f + 1.0f : 1.0f;",
     "admitted",
     "wrong-result",
     "wrong-result",
     "wrong-result"},
    {"half_precision",
     "",
     "for (long i = begin; i < end; i++) y[i] = (float)(_Float16)x[i] * 2.0f + 1.0f;",
     "admitted",
     "wrong-result",
     "wrong-result",
     "wrong-result"},
    {"seen_sizes",
     "",
     "for (long i = begin; i < end; i++) y[i] = x[i] * (dims[0] % 1000 == 0 ? 2.0f : 2.001f) + 1.0f;",
     "admitted",
     "wrong-result",
     "wrong-result",
     "wrong-result"},
};

Candidate candidate_of(const Cheat& cheat) {
  Candidate made;
  made.launch.parallel = {0};
  made.source = std::string(cheat.before) +
                "\nvoid autoperfect_kernel(const void* const* in, void* const* out, void*, void*, const "
                "long* dims, long "
                "begin, long end) {\n  const float* x = (const float*)in[0]; float* y = (float*)out[0];\n" +
                cheat.body + "\n}\n";
  return made;
}

std::string code_of(const std::vector<Diagnostic>& failures) {
  return failures.empty() ? "admitted" : failures[0].code;
}

bool has_code(const std::vector<Diagnostic>& failures, const std::string& code) {
  return std::any_of(failures.begin(), failures.end(), [&](const Diagnostic& d) { return d.code == code; });
}

class GateLayersTest : public testing::TestWithParam<Cheat> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the worker's sandbox forbids what a sanitizer needs";
#endif
  }
};

TEST_P(GateLayersTest, TheNextLayerCatchesIt) {
  const Cheat& cheat = GetParam();
  auto made = candidate_of(cheat);
  const CompilerOptions no_object_check{true, false};
  auto checked = compile_cpu(made.source, *system_compiler());
  if (checked)
    EXPECT_STREQ("admitted", cheat.object);
  else
    EXPECT_TRUE(has_code(checked.errors(), cheat.object)) << format(checked.errors());
  auto binary = compile_cpu(made.source, *system_compiler(), Build::plain, no_object_check);
  auto watched = compile_cpu(made.source, *system_compiler(), Build::sanitized, no_object_check);
  ASSERT_TRUE(binary && watched);
  auto judged = [&](const char* expected, bool with_watched, const GateLayers& layers) {
    if (!*expected) return;
    GateOptions options;
    options.seed = 5;
    options.seconds = std::string(expected) == "timeout" ? 1 : 20;
    options.layers = layers;
    if (with_watched) options.watched_binary = &*watched;
    auto verdict = gate(affine(), made, *binary, options);
    EXPECT_FALSE(verdict.admitted);
    EXPECT_EQ(code_of(verdict.failures), expected) << format(verdict.failures);
  };
  judged(cheat.gate, true, {});
  judged(cheat.unwatched, false, {});
  judged(cheat.open, false, {false, false, false});
}

INSTANTIATE_TEST_SUITE_P(all, GateLayersTest, testing::ValuesIn(cheats), [](const auto& info) {
  return std::string(info.param.name);
});

TEST(GateLayers, FewerFamiliesLetMoreThrough) {
  auto made = candidate_of(
      {"", "", "for (long i = begin; i < end; i++) y[i] = x[i] > 40.0f ? 0.0f : x[i] * 2.0f + 1.0f;"});
  auto binary = compile_cpu(made.source, *system_compiler());
  ASSERT_TRUE(binary);
  GateOptions options;
  options.layers.families = 1;
  EXPECT_TRUE(gate(affine(), made, *binary, options).admitted);
  EXPECT_FALSE(gate(affine(), made, *binary, {}).admitted);
}

TEST(GateLayers, ALevelThatIsNotToBeHadRefusesToRun) {
  auto made = candidate_of({"", "", honest});
  auto binary = compile_cpu(made.source, *system_compiler());
  ASSERT_TRUE(binary);
  GateOptions options;
  options.required = Isolation::seccomp;
  options.layers.seccomp = false;
  auto verdict = gate(affine(), made, *binary, options);
  EXPECT_FALSE(verdict.admitted);
  EXPECT_EQ(code_of(verdict.failures), "not-run");
  EXPECT_NE(format(verdict.failures).find("isolation"), std::string::npos);
  options.required = Isolation::process;
  verdict = gate(affine(), made, *binary, options);
  EXPECT_TRUE(verdict.admitted) << format(verdict.failures);
  EXPECT_EQ(verdict.level, Isolation::process);
  options.layers = {true, false};
  verdict = gate(affine(), made, *binary, options);
  EXPECT_EQ(verdict.level, Isolation::seccomp);
  EXPECT_EQ(verdict.isolation, "process, rlimits, guard pages, seccomp");
}

// --- graphs

TEST(GateLayers, GraphsAreJudgedLikeKernels) {
  auto with = [](double factor) {
    return [factor](const std::vector<Tensor>& inputs) -> Result<std::vector<Tensor>> {
      Tensor y = inputs[0];
      for (int64_t i = 0; i < y.type.elements(); ++i)
        y.set(i, static_cast<float>(static_cast<float>(inputs[0].at(i) * factor) + 1.0));
      return std::vector<Tensor>{y};
    };
  };
  auto right = gate(affine(), with(2), false, {});
  EXPECT_TRUE(right.admitted) << format(right.failures);
  EXPECT_GT(right.families.size(), 20u);
  auto wrong = gate(affine(), with(2.01), false, {});
  EXPECT_EQ(code_of(wrong.failures), "wrong-result");
  EXPECT_NE(format(wrong.failures).find("%y["), std::string::npos);
  auto own = gate(affine(), with(2), true, {});
  EXPECT_TRUE(own.admitted);
  EXPECT_LT(own.families.size(), right.families.size());
  int calls = 0;
  auto changes = gate(
      affine(),
      [&](const std::vector<Tensor>& inputs) { return with(++calls % 2 ? 2 : 2 * (1 + 0x1p-23))(inputs); },
      false,
      {});
  EXPECT_FALSE(changes.admitted);
  auto fails = gate(
      affine(),
      [](const std::vector<Tensor>&) -> Result<std::vector<Tensor>> {
        return Diagnostic{"test", "none", "no such thing"};
      },
      false,
      {});
  EXPECT_NE(format(fails.failures).find("no such thing"), std::string::npos);
}

// --- the compiler

class CompilerSandbox : public testing::Test {
 protected:
  void SetUp() override {
    if (isolation_available() < Isolation::landlock) GTEST_SKIP() << "this system has no Landlock";
    place_ = testing::TempDir() + "compiler_sandbox";
    std::ofstream(place_ + ".h") << "#define SECRET 918273645\n";
  }
  void TearDown() override { std::remove((place_ + ".h").c_str()); }

  std::string outcome(const std::string& source, bool sandbox) {
    auto binary = compile_cpu(
        source +
            "\nvoid autoperfect_kernel(const void* const*, void* const*, void*, void*, const long*, long, "
            "long) {}\n",
        *system_compiler(),
        Build::plain,
        {sandbox, false});
    return binary ? "compiled" : format(binary.errors());
  }
  std::string place_;
};

TEST_F(CompilerSandbox, FilesOfTheUserAreNotRead) {
  const std::string include = "#include \"" + place_ + ".h\"\nstatic_assert(SECRET == 918273645);";
  const std::string embed = "asm(\".incbin \\\"" + place_ + ".h\\\"\");";
  for (auto& source : {include, embed}) {
    EXPECT_EQ(outcome(source, false), "compiled") << source;
    auto refused = outcome(source, true);
    EXPECT_NE(refused, "compiled") << source;
    EXPECT_EQ(refused.find("918273645"), std::string::npos);
  }
}

TEST_F(CompilerSandbox, WhateverIsNamedAsTheCompilerHasItsTemporariesAlone) {
  const std::string folder = place_ + "_bin", script = folder + "/compiler", outside = place_ + ".h";
  std::filesystem::create_directory(folder);
  std::ofstream(script) << "#!/bin/sh\ncat " << outside << " >/dev/null 2>&1 && exit 3\n(echo more >> "
                        << outside
                        << ") 2>/dev/null && exit 3\n: > \"$TMPDIR/mine\" || exit 3\nexec g++ \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  Compiler compiler = *system_compiler();
  compiler.path = script;
  const std::string source =
      "void autoperfect_kernel(const void* const*, void* const*, void*, void*, const long*, long, long) {}\n";
  auto shut_in = compile_cpu(source, compiler);
  EXPECT_TRUE(shut_in) << format(shut_in.errors());
  EXPECT_FALSE(compile_cpu(source, compiler, Build::plain, {false, true}));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace autoperfect

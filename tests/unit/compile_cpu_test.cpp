#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "compile/cpu/compile.h"
#include "compile/cpu/object_check.h"

namespace autoperfect {
namespace {

const Compiler& compiler() {
  return *system_compiler();
}

constexpr const char* doubles_each = R"(
void autoperfect_kernel(const void* const* in, void* const* out, void*, void*, const long*, long begin, long end) {
  const float* x = (const float*)in[0];
  float* y = (float*)out[0];
  for (long i = begin; i < end; i++) y[i] = x[i] * FACTOR;
}
)";

std::string with_factor(const std::string& factor) {
  std::string source = doubles_each;
  return source.replace(source.find("FACTOR"), 6, factor);
}

std::vector<float> run(const LoadedKernel& kernel, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  launch_cpu(kernel, in, out, nullptr, static_cast<int64_t>(x.size()));
  return y;
}

TEST(CompileCpu, FindsACompiler) {
  ASSERT_TRUE(system_compiler()) << format(system_compiler().errors());
  EXPECT_EQ(compiler().path[0], '/');
  EXPECT_FALSE(version_of(compiler()).empty());
  EXPECT_EQ(compiler().identity.substr(0, 1), "/");
  EXPECT_FALSE(cpu_features().empty());
  EXPECT_TRUE(cpu_lanes() == 4 || cpu_lanes() == 8 || cpu_lanes() == 16);
}

TEST(CompileCpu, CompilesLoadsAndRuns) {
  auto binary = compile_cpu(with_factor("2.0f"), compiler());
  ASSERT_TRUE(binary) << format(binary.errors());
  auto kernel = load_cpu(*binary, Launch{});
  ASSERT_TRUE(kernel) << format(kernel.errors());
  EXPECT_EQ(run(**kernel, {1, 2, 3.5}), (std::vector<float>{2, 4, 7}));
}

TEST(CompileCpu, ErrorsCarryLineAndColumnOfTheCandidate) {
  auto binary = compile_cpu(
      "void autoperfect_kernel(const void* const*, void* const*, void*, void*, const long*, long, long) {\n  "
      "int x = unknown;\n}\n",
      compiler());
  ASSERT_FALSE(binary);
  auto& error = binary.errors().at(0);
  EXPECT_EQ(error.stage, "compile");
  EXPECT_EQ(error.code, "compiler-error");
  EXPECT_EQ(error.where.line, 2);
  EXPECT_EQ(error.where.column, 11);
  EXPECT_NE(error.message.find("unknown"), std::string::npos);
}

TEST(CompileCpu, MessagesOfOtherFilesAreNotShown) {
  auto binary = compile_cpu("#include \"/etc/passwd\"\n", compiler());
  ASSERT_FALSE(binary);
  EXPECT_EQ(format(binary.errors()).find("root"), std::string::npos);
}

TEST(CompileCpu, AWrongSignatureIsRefused) {
  EXPECT_FALSE(compile_cpu(
      "int autoperfect_kernel(const void* const*, void* const*, void*, void*, const long*, long, long) {"
      " return 1; }\n",
      compiler()));
  auto overload = compile_cpu("void autoperfect_kernel(int) {}\n", compiler());  // another function to C++
  EXPECT_FALSE(overload && load_cpu(*overload, Launch{}));
}

TEST(CompileCpu, AMissingFunctionIsRefusedWhenLoading) {
  auto binary = compile_cpu("static int nothing;\n", compiler());
  ASSERT_TRUE(binary) << format(binary.errors());
  EXPECT_FALSE(load_cpu(*binary, Launch{}));
  auto kernel_only = compile_cpu(with_factor("2.0f"), compiler());
  Launch launch;
  launch.partial_bytes = 8;
  EXPECT_FALSE(load_cpu(*kernel_only, launch));
}

TEST(CompileCpu, BytesThatAreNoObjectAreRefused) {
  EXPECT_FALSE(load_cpu("", Launch{}));
  EXPECT_FALSE(load_cpu("not an object", Launch{}));
}

TEST(CompileCpu, AFailingCompilerIsADiagnostic) {
  Compiler broken = compiler();
  broken.path = "/bin/false";
  EXPECT_FALSE(compile_cpu("", broken));
  broken.path = "/nonexistent/compiler";
  EXPECT_FALSE(compile_cpu("", broken));
  broken.path = "/bin/true";
  EXPECT_FALSE(compile_cpu("", broken));
}

TEST(CompileCpu, LeavesNoTemporaryFiles) {
  std::string place = testing::TempDir() + "compile_cpu_test";
  std::filesystem::create_directories(place);
  setenv("TMPDIR", place.c_str(), 1);
  EXPECT_TRUE(compile_cpu(with_factor("2.0f"), compiler()));
  EXPECT_FALSE(compile_cpu("syntax error", compiler()));
  unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(place));
  std::filesystem::remove_all(place);
}

// Descriptor numbers come again; the loader must not hand out the kernel it saw under the same number.
TEST(CompileCpu, KernelsLoadedAtOnceAreDistinct) {
  std::vector<std::shared_ptr<LoadedKernel>> kernels;
  for (int factor : {2, 3, 5}) {
    auto binary = compile_cpu(with_factor(std::to_string(factor) + ".0f"), compiler());
    ASSERT_TRUE(binary);
    auto kernel = load_cpu(*binary, Launch{});
    ASSERT_TRUE(kernel);
    kernels.push_back(*kernel);
  }
  EXPECT_EQ(run(*kernels[0], {1}), std::vector<float>{2});
  EXPECT_EQ(run(*kernels[1], {1}), std::vector<float>{3});
  EXPECT_EQ(run(*kernels[2], {1}), std::vector<float>{5});
}

// The codes of all refusals.
std::string refusal_of(const std::string& body, const std::string& before) {
  auto binary = compile_cpu(
      before +
          "\nvoid autoperfect_kernel(const void* const* in, void* const* out, void*, void*, const long*, "
          "long b, "
          "long e) {" +
          body + "}\n",
      compiler());
  std::string codes;
  if (!binary) {
    for (auto& error : binary.errors())
      codes += (codes.empty() ? "" : " ") + error.code;
  }
  return codes;
}

TEST(CompileCpu, ObjectsThatReachTheSystemAreRefused) {
  EXPECT_EQ(refusal_of("_exit(0);", "extern \"C\" void _exit(int);"), "import");
  EXPECT_EQ(refusal_of("system(\"true\");", "extern \"C\" int system(const char*);"), "import");
  EXPECT_EQ(
      refusal_of("*(void**)out[0] = malloc(8);", "extern \"C\" void* malloc(unsigned long);"), "import");
}

TEST(CompileCpu, ObjectsThatRunWhenLoadedAreRefused) {
  for (const char* before :
       {"static volatile int n; struct S { S() { n = 1; } }; static S s;",
        "static volatile int n; __attribute__((constructor)) static void f() { n = 1; }",
        "static volatile int n; __attribute__((destructor)) static void f() { n = 1; }"}) {
    EXPECT_NE(refusal_of("", before).find("runs-when-loaded"), std::string::npos) << before;
  }
}

TEST(CompileCpu, ObjectsWithStateAreRefused) {
  EXPECT_EQ(refusal_of("*(int*)out[0] = ++calls;", "static int calls;"), "state");
  EXPECT_EQ(refusal_of("*(int*)out[0] = ++calls;", "static int calls = 5;"), "state");
  EXPECT_NE(refusal_of("*(int*)out[0] = ++calls;", "static thread_local int calls;"), "");
}

TEST(CompileCpu, TablesAndMathematicalFunctionsAreAllowed) {
  EXPECT_EQ(
      refusal_of(
          "float* y = (float*)out[0]; for (long i = b; i < e; i++) y[i] = __builtin_expf(table[i % 3]) + "
          "__builtin_pow(y[i], 1.5);"
          "__builtin_memset(y, 0, e - b); *(const char**)out[1] = names[b];",
          "static const float table[] = {1, 2, 3}; static const char* const names[] = {\"a\", \"b\"};"),
      "");
}

TEST(CompileCpu, AnyBytesMayBeChecked) {
  auto binary = compile_cpu(with_factor("2.0f"), compiler());
  ASSERT_TRUE(binary);
  EXPECT_TRUE(check_object(*binary).empty());
  EXPECT_FALSE(check_object("").empty());
  for (size_t length = 0; length < binary->size(); length += 61)
    (void)check_object(binary->substr(0, length));
  for (size_t i = 0; i < binary->size(); i += 7) {
    auto damaged = *binary;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    (void)check_object(damaged);
  }
}

TEST(CompileCpu, ThePreludeIsThere) {
  if (prelude_source().empty()) GTEST_SKIP() << "built without the prelude";
  auto binary = compile_cpu(with_factor("2.0f"), compiler());
  EXPECT_TRUE(binary);
}

}  // namespace
}  // namespace autoperfect

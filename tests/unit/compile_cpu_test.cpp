#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "compile/cpu/compile.h"

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

TEST(CompileCpu, AnElementwiseKernelTakesWellUnderASecond) {
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(compile_cpu(with_factor("2.5f"), compiler()));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 1.0);
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

TEST(CompileCpu, ThePreludeIsThere) {
  if (prelude_source().empty()) GTEST_SKIP() << "built without the prelude";
  auto binary = compile_cpu(with_factor("2.0f"), compiler());
  EXPECT_TRUE(binary);
}

}  // namespace
}  // namespace autoperfect

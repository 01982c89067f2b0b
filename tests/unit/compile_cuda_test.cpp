// Everything up to the cubin, which needs NVRTC but no GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <regex>
#include <sstream>

#include "compile/cuda/compile.h"
#include "generate/language/vocabulary.h"
#include "generate/schedule/schedule.h"
#include "kernel_parts.h"
#include "support/file.h"
#include "support/isolation.h"

namespace autoperfect {
namespace {

class compile_cuda_test : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_compiler())
      GTEST_SKIP() << "NVRTC is not installed: " << cuda_compiler().errors().at(0).message;
  }
};

TEST_F(compile_cuda_test, a_kernel_becomes_an_elf_file) {
  auto binary = compile_cuda(
      "extern \"C\" __global__ void autoperfect_kernel(const float* x, float* y) {\n"
      "  y[threadIdx.x] = ap::exp(x[threadIdx.x]);\n}\n",
      90);
  ASSERT_TRUE(binary.ok()) << format(binary.errors());
  EXPECT_EQ(binary->cubin.substr(1, 3), "ELF");
  EXPECT_TRUE(std::regex_search(binary->log, std::regex("Used [0-9]+ registers"))) << binary->log;
  EXPECT_NE(binary->log.find("0 bytes spill stores"), std::string::npos) << binary->log;
}

TEST_F(compile_cuda_test, errors_have_lines_of_the_candidate) {
  auto binary = compile_cuda("__global__ void f(float* y) {\n  y[0] = ap::nothing(1.0f);\n  z = 1;\n}\n", 90);
  ASSERT_FALSE(binary.ok());
  ASSERT_EQ(binary.errors().size(), 2u);
  EXPECT_EQ(binary.errors()[0].where.line, 2);
  EXPECT_EQ(binary.errors()[1].where.line, 3);
  EXPECT_EQ(binary.errors()[0].code, "compiler-error");
  EXPECT_NE(binary.errors()[1].message.find("\"z\" is undefined"), std::string::npos);
}

TEST_F(compile_cuda_test, no_product_and_sum_are_contracted) {
  auto source = [](const char* body) {
    return std::string("extern \"C\" __global__ void f(float* x) {\n  x[0] = ") + body + ";\n}\n";
  };
  auto plain = compile_cuda(source("x[1] * x[2] + x[3]"), 90);
  auto fused = compile_cuda(source("ap::fma(x[1], x[2], x[3])"), 90);
  ASSERT_TRUE(plain.ok() && fused.ok());
  EXPECT_NE(plain->cubin, fused->cubin);
}

// Stores to global memory in code of sm_90, of 16 bytes.
int whole_stores(const std::string& cubin) {
  constexpr size_t instruction = 16;
  constexpr uint64_t store = 0x986, of_16_bytes = 6;
  int count = 0;
  for (size_t at = 0; at + instruction <= cubin.size(); at += instruction) {
    uint64_t words[2];
    std::memcpy(words, cubin.data() + at, instruction);
    count += (words[0] & 0xfff) == store && (words[1] >> 9 & 7) == of_16_bytes;
  }
  return count;
}

// What lies together is stored together, wherever a row begins: the compiler is not left to find that out.
TEST_F(compile_cuda_test, packs_are_stored_whole) {
  for (int columns : {4096, 50257, 50304}) {
    const std::string shape = "[64," + std::to_string(columns) + "]";
    const auto kernel = parse_or_throw(kernel_text(
        "    in %x: f32" + shape + " row\n    out %y: f32" + shape + " row\n",
        "    axes i=64, j=" + std::to_string(columns) +
            "\n    %m[i] = max(j) %x[i,j] : f32\n    %d[i,j] = sub %x[i,j], %m[i] : f32\n    %e[i,j] = exp "
            "%d[i,j] "
            ": f32\n    %s[i] = sum(j) %e[i,j] : f32\n    %y[i,j] = div %e[i,j], %s[i] : f32\n"));
    int with = 0;
    for (auto& candidate : generate_schedules(kernel, *find_target("cuda.sm_90"))) {
      if (candidate.source.find("P = 4;") == std::string::npos) continue;
      auto binary = compile_cuda(candidate.source, 90);
      ASSERT_TRUE(binary.ok()) << format(binary.errors());
      EXPECT_GE(whole_stores(binary->cubin), 1) << candidate.provenance << "\n" << candidate.source;
      ++with;
    }
    EXPECT_GE(with, 3) << columns;
  }
}

TEST_F(compile_cuda_test, old_gpus_and_unknown_ones_are_refused) {
  EXPECT_EQ(compile_cuda("", 75).errors().at(0).code, "old-gpu");
  EXPECT_FALSE(compile_cuda("", 81234).ok());
}

// What others wrote is compiled by the helper program.
class draft_compile_test : public compile_cuda_test {
 protected:
  void SetUp() override {
    compile_cuda_test::SetUp();
    if (worker_path().empty()) GTEST_SKIP() << "no helper program";
  }
  static Result<CudaBinary> compiled(const std::string& body, double seconds = 60) {
    return compile_cuda(
        "extern \"C\" __global__ void f(float* x) {\n" + body + "\n}\n",
        90,
        {.drafted = true, .seconds = seconds});
  }
};

TEST_F(draft_compile_test, products_and_sums_are_contracted) {
  auto drafted = compiled("  x[0] = x[1] * x[2] + x[3];");
  auto fused = compiled("  x[0] = ap::fma(x[1], x[2], x[3]);");
  ASSERT_TRUE(drafted.ok() && fused.ok()) << format(drafted.errors());
  EXPECT_EQ(drafted->cubin, fused->cubin);
}

TEST_F(draft_compile_test, errors_have_lines) {
  auto binary = compiled("  x[0] = 1;\n  y = 1;");
  ASSERT_FALSE(binary.ok());
  EXPECT_EQ(binary.errors()[0].where.line, 3);
  EXPECT_EQ(binary.errors()[0].code, "compiler-error");
}

// Were the check not there, the sandbox would still not let a source read the files of a user.
TEST_F(draft_compile_test, no_file_is_read) {
  const auto file = std::filesystem::temp_directory_path() / ("autoperfect-" + std::to_string(getpid()));
  ASSERT_TRUE(write_file_atomically(file, "float secret_of_the_user;\n").ok());
  auto source = "x[0] = 1;\n#include \"" + file.string() + "\"\nx[0] = secret_of_the_user;";
  auto binary = compiled(source);
  std::filesystem::remove(file);
  if (isolation_available() < Isolation::landlock) GTEST_SKIP() << "no Landlock here";
  ASSERT_FALSE(binary.ok());
  EXPECT_NE(format(binary.errors()).find("cannot open"), std::string::npos) << format(binary.errors());
}

TEST_F(draft_compile_test, a_source_that_takes_too_long_is_stopped) {
  std::string body;
  for (int depth = 0; depth < 4; ++depth)
    body += "#pragma unroll\nfor (int i" + std::to_string(depth) + " = 0; i" + std::to_string(depth) +
            " < 512; ++i" + std::to_string(depth) + ")\n";
  auto binary = compiled(body + "x[i0 * i1 + i2 * i3] += sinf(x[i0 + i1 + i2 + i3]);", 2);
  ASSERT_FALSE(binary.ok());
  EXPECT_EQ(binary.errors()[0].code, "compiler-timeout") << format(binary.errors());
}

TEST_F(draft_compile_test, half_numbers_need_no_headers) {
  auto binary = compiled(
      "  __half h = __float2half_rn(x[0]); __nv_bfloat16 b = __ldg((const __nv_bfloat16*)x);\n"
      "  h += 2.0f; b = b * h + 1.0f; __stcs((__half*)x + 3, h); __half2 two{h, h};\n"
      "  __shared__ __half2 all[4]; all[threadIdx.x] = two; __syncthreads();\n"
      "  x[4] = __half2float(all[0].y) + __bfloat162float(b) + fmaxf(h, b);");
  EXPECT_TRUE(binary.ok()) << format(binary.errors());
}

// A call as the prompt tells of the function: `T` is a float, or what it says.
std::string call_of(const Function& function) {
  const std::string usage(function.usage);
  const auto open = usage.find('('), close = usage.rfind(')');
  const std::string type = usage.find("of integers") != std::string::npos ? "int" : "float";
  std::string call;
  std::istringstream parameters(usage.substr(open + 1, close - open - 1));
  for (std::string parameter; std::getline(parameters, parameter, ',');) {
    auto text = parameter.substr(0, parameter.rfind(' '));
    text = std::regex_replace(text, std::regex("\\bT\\b"), type);
    const bool is_pointer = text.ends_with('*');
    call += (call.empty() ? "" : ", ") + ("(" + text + ")") + (is_pointer ? "x" : "x[1]");
  }
  return std::string(function.name) + "(" + call + ");\n";
}

TEST_F(draft_compile_test, everything_a_prompt_names_is_there) {
  const auto& words = vocabulary("cuda");
  std::string body;
  int functions = 0;
  for (const auto& group : words.functions)
    for (const auto& function : group.functions) {
      body += call_of(function);
      ++functions;
    }
  for (auto type : words.types)
    if (type != "void" && type != "signed" && !type.ends_with("_t")) body += std::string(type) + "{};\n";
  for (auto name : words.names)
    body += "(void)" + std::string(name) + ";\n";
  auto binary = compiled(body);
  EXPECT_TRUE(binary.ok()) << format(binary.errors(), "\n" + body);
  EXPECT_GT(functions, 60);
}

// Every kernel that the golden tests lower to, and each of its candidates in turn.
TEST_F(compile_cuda_test, kernels_of_the_golden_tests) {
  int compiled = 0, refused = 0;
  size_t turn = 0;
  for (const char* folder : {"lower", "generate"})
    for (auto& entry : std::filesystem::directory_iterator(std::string(GOLDEN_FOLDER "/") + folder)) {
      std::string text = read_file(entry.path()).value_or("");
      constexpr std::string_view head = "autoperfect.kernel 1\n";
      for (size_t at = text.find(head); at != std::string::npos;) {
        size_t next = text.find(head, at + 1);
        size_t end = text.find("\n}\n", at);
        auto kernel = parse_kernel(text.substr(at, end == std::string::npos ? end : end + 3 - at));
        at = next;
        if (!kernel) continue;
        auto candidates = generate_schedules(*kernel, *find_target("cuda.sm_90"));
        if (candidates.empty()) {
          ++refused;
          continue;
        }
        auto& candidate = candidates[turn++ % candidates.size()];
        auto binary = compile_cuda(candidate.source, 90);
        EXPECT_TRUE(binary.ok()) << entry.path() << "\n" << format(binary.errors()) << candidate.source;
        ++compiled;
      }
    }
  std::printf("%d kernels compiled, %d left to MLX\n", compiled, refused);
  EXPECT_GE(compiled, 15);
}

// Two at once wherever all that varies along the lanes is of one half dtype, in rows as well; and once
// without.
TEST_F(compile_cuda_test, pairs_of_halves) {
  auto text = [](const std::string& math) {
    return "autoperfect.kernel 1\nkernel @y {\n  abi {\n    in %x: bf16[?i,4096] row\n    in %w: bf16[4096] "
           "row\n"
           "    out %y: bf16[?i,4096] row\n  }\n  math {\n    axes i=?64, j=4096\n" +
           math + "  }\n  numerics {\n    accumulate f32\n  }\n}\n";
  };
  const struct {
    std::string math;
    bool pairs;
  } cases[] = {
      {"    %a[i,j] = power %x[i,j], 3.0 : bf16\n    %b[i,j] = sigmoid %a[i,j] : bf16\n"
       "    %c[i,j] = maximum %b[i,j], 0.5 : bf16\n    %d[i,j] = neg %c[i,j] : bf16\n"
       "    %e[i,j] = abs %d[i,j] : bf16\n    %f[i,j] = rsqrt %e[i,j] : bf16\n"
       "    %g[i,j] = div 2.0, %f[i,j] : bf16\n    %h[i,j] = erf %g[i,j] : bf16\n"
       "    %y[i,j] = sub 1.0, %h[i,j] : bf16\n",
       true},
      {"    %m[i] = max(j) %x[i,j] : bf16\n    %a[i,j] = sub %x[i,j], %m[i] : bf16\n"
       "    %b[i,j] = exp %a[i,j] : bf16\n    %s[i] = sum(j) %b[i,j] : bf16\n"
       "    %c[i,j] = div %b[i,j], %s[i] : bf16\n    %y[i,j] = mul %c[i,j], %w[j] : bf16\n",
       true},
      {"    %a[i,j] = cast %x[i,j] : f32\n    %b[i,j] = exp %a[i,j] : f32\n    %y[i,j] = cast %b[i,j] : "
       "bf16\n",
       false},
      {"    %a[i,j] = greater %x[i,j], %w[j] : bool\n    %y[i,j] = select %a[i,j], %x[i,j], 0.0 : bf16\n",
       false},
  };
  auto of = [](std::string text, const std::string& half) {
    for (size_t at = 0; (at = text.find("bf16", at)) != std::string::npos;)
      text.replace(at, 4, half), at += half.size();
    return text;
  };
  for (const char* half : {"bf16", "f16"})
    for (auto& [math, pairs] : cases) {
      auto kernel = parse_kernel(of(text(math), half));
      ASSERT_TRUE(kernel.ok()) << format(kernel.errors());
      int with = 0, without = 0;
      for (auto& candidate : generate_schedules(*kernel, *find_target("cuda.sm_90"))) {
        ++(candidate.provenance.ends_with(" pairs") ? with : without);
        for (int capability : {80, 90}) {
          auto binary = compile_cuda(candidate.source, capability);
          EXPECT_TRUE(binary.ok()) << format(binary.errors()) << candidate.source;
        }
      }
      EXPECT_EQ(with > 0, pairs) << math;
      EXPECT_GE(without, 1) << math;
      if (pairs) EXPECT_EQ(without, 1) << math;
    }
}

// Where a function of f32 may have the errors of one of a half dtype: its share of what it is part of stays.
TEST(cuda_functions_of_halves, are_for_what_ends_in_halves) {
  auto source = [](const std::string& in, const std::string& out, const std::string& math) {
    auto kernel = parse_kernel(
        "autoperfect.kernel 1\nkernel @y {\n  abi {\n    in %x: " + in + "[64,512] row\n    out %y: " + out +
        "[64,512] row\n  }\n  math {\n    axes i=64, j=512\n" + math +
        "  }\n  numerics {\n    accumulate f32\n  }\n}\n");
    EXPECT_TRUE(kernel.ok()) << format(kernel.errors());
    return generate_schedules(*kernel, *find_target("cuda.sm_90")).at(0).source;
  };
  auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string wide = "    %w[i,j] = cast %x[i,j] : f32\n    %e[i,j] = exp %w[i,j] : f32\n";
  const std::string share =
      wide + "    %s[i] = sum(j) %e[i,j] : f32\n    %q[i,j] = div %e[i,j], %s[i] : f32\n";
  const std::string round = "    %y[i,j] = cast %q[i,j] : bf16\n";
  EXPECT_TRUE(has(source("bf16", "bf16", share + round), "exp_of_half"));
  EXPECT_FALSE(has(source("bf16", "f32", share + "    %y[i,j] = copy %q[i,j] : f32\n"), "exp_of_half"));
  EXPECT_FALSE(
      has(source("bf16", "bf16", wide + "    %q[i,j] = sub %e[i,j], 1.0 : f32\n" + round), "exp_of_half"));
  EXPECT_FALSE(has(source("f32", "f32", "    %y[i,j] = erf %x[i,j] : f32\n"), "erf_of_half"));
  for (std::string half : {"bf16", "f16"}) {
    auto both = source(
        half,
        half,
        "    %a[i,j] = div %x[i,j], 1.4140625 : " + half + "\n    %b[i,j] = erf %a[i,j] : " + half +
            "\n    %y[i,j] = exp %b[i,j] : " + half + "\n");
    EXPECT_TRUE(has(both, "half_scaled") && has(both, "erf_of_half") && has(both, "exp_of_half")) << both;
    EXPECT_TRUE(has(source(half, half, "    %y[i,j] = div 1.0, %x[i,j] : " + half + "\n"), "_quotient"));
  }
}

}  // namespace
}  // namespace autoperfect

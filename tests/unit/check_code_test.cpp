// The check of drafts: what is refused, with what code and where, and what a good draft becomes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "check/check.h"
#include "compile/cpu/compile.h"
#include "generate/language/vocabulary.h"
#include "ir/kernel_text.h"
#include "reference_kernels.h"

namespace autoperfect {
namespace {

Kernel scaled_exp() {
  return parsed(
      "    in %x: f32[?i,50] row\n    in %w: f32[50] row\n    out %y: f32[?i,50] row\n",
      "    axes i=?6, j=50\n    %a[i,j] = mul %x[i,j], %w[j] : f32\n    %y[i,j] = exp %a[i,j] : f32\n");
}

Result<Checked> check_cpu(const std::string& body, const std::string& launch = "// launch: parallel=i\n") {
  return check(scaled_exp(), {"cpu", launch + body}, *find_target("cpu.avx2"));
}

// "code@line" of each error.
std::vector<std::string> found(const Result<Checked>& checked) {
  std::vector<std::string> codes;
  if (!checked) {
    for (const auto& error : checked.errors()) {
      EXPECT_EQ(error.stage, "check");
      EXPECT_FALSE(error.message.empty());
      codes.push_back(fmt::format("{}@{}", error.code, error.where.line));
    }
  }
  return codes;
}
using Codes = std::vector<std::string>;

std::string counting(const Checked& checked);

std::vector<std::string> arms_of(const Checked& checked) {
  std::vector<std::string> arms;
  for (const auto& arm : checked.arms)
    arms.push_back(fmt::format("{}@{}", arm.what, arm.line));
  return arms;
}

const std::string good = R"(for (long u = begin; u < end; ++u) {
  const float* x = in0 + u * n_j;
  long j = 0;
  for (; j + W <= n_j; j += W) {
    vf v = load(x + j) * load(in1 + j);
    if (any(gt(v, splat(88.5f))))
      v = smaller(v, splat(100.0f));
    store(out0 + u * n_j + j, exp(v));
  }
  if (j < n_j) store(out0 + u * n_j + j, exp(load(x + j, n_j - j) * load(in1 + j, n_j - j)), n_j - j);
}
)";

TEST(check_code, a_good_draft_becomes_a_candidate) {
  auto checked =
      check_cpu(good, "// launch: parallel=i grain=2*n_j align=4 scratch=ceil_div(n_j, 16) * 64\n");
  ASSERT_TRUE(checked) << format(checked.errors(), good);
  EXPECT_EQ(checked->candidate.signature, signature(scaled_exp()));
  EXPECT_EQ(checked->candidate.language, "cpu");
  EXPECT_EQ(checked->candidate.launch.parallel, std::vector<AxisId>{0});
  EXPECT_EQ(checked->candidate.launch.grain, 100);
  EXPECT_EQ(checked->candidate.launch.align, 4);
  EXPECT_EQ(checked->candidate.launch.scratch_bytes, 256);
  EXPECT_EQ(checked->constants, (std::vector<double>{88.5, 100}));
}

Kernel transposed_sum() {
  return parsed(
      "    in %x: f32[?i,3] strides=[1,?] offset=2\n    in %b: f32[?i,3] row\n"
      "    out %y: f32[?i,3] row alias=%b\n    temp %t: f32[?i] row\n",
      "    axes i=?2, j=3\n    %y[i,j] = add %x[i,j], %b[i,j] : f32\n");
}

const std::string of_transposed = R"(// launch: parallel=i
for (long i = begin; i < end; ++i) {
  for (long j = 0; j < n_j; ++j) {
    tmp0[i] = in0[2 + i + j * s_in0_1];
    out0[i * n_j + j] = tmp0[i] + in1[i * n_j + j];
  }
}
)";

TEST(check_code, strides_and_temporaries_are_declared) {
  auto checked = check(transposed_sum(), {"cpu", of_transposed}, *find_target("cpu.avx2"));
  ASSERT_TRUE(checked) << format(checked.errors(), of_transposed);
  const auto& source = checked->candidate.source;
  EXPECT_NE(source.find("const long n_i = ap_dims[0]; "), std::string::npos) << source;
  EXPECT_NE(source.find("const long s_in0_1 = ap_dims[1]; "), std::string::npos) << source;
  EXPECT_NE(source.find("f32* const tmp0 = (f32*)ap_out[1]; "), std::string::npos) << source;

  auto without_temporary = of_transposed;
  without_temporary.replace(without_temporary.find("out0["), 5, "tmp0[");
  EXPECT_EQ(
      found(check(transposed_sum(), {"cpu", without_temporary}, *find_target("cpu.avx2"))),
      Codes{"output-not-written@1"});
  auto other_stride = of_transposed;
  other_stride.replace(other_stride.find("s_in0_1"), 7, "s_in0_0");
  EXPECT_EQ(
      found(check(transposed_sum(), {"cpu", other_stride}, *find_target("cpu.avx2"))),
      Codes{"unknown-name@4"});
  const std::string cuda = "// launch: grid=n_i block=32\nout0[threadIdx.x] = in0[threadIdx.x];\n";
  EXPECT_EQ(
      found(check(transposed_sum(), {"cuda", cuda}, *find_target("cuda.h200"))), Codes{"unsupported@1"});
}

TEST(check_code, a_draft_in_cuda_becomes_a_function_with_a_launch) {
  const std::string body =
      "// launch: grid=ceil_div(n_i*n_j,64),2 block=32,2 shared=4*n_j\n"
      "// guard: n_i % 4 == 0, aligned 256\n"
      "__shared__ float all[8];\nout0[threadIdx.x] = in0[n_i] * all[0];\n";
  auto checked = check(scaled_exp(), {"cuda", body}, *find_target("cuda.h200"));
  ASSERT_TRUE(checked) << format(checked.errors(), body);
  const auto& candidate = checked->candidate;
  EXPECT_EQ(candidate.launch.grid, (Codes{"ceil_div(d0*50,64)", "2"}));
  EXPECT_EQ(candidate.launch.block, (Codes{"32", "2"}));
  EXPECT_EQ(candidate.launch.scratch_bytes, 200);
  EXPECT_EQ(candidate.guards.alignment, 256);
  EXPECT_TRUE(candidate.source.starts_with(
      "extern \"C\" __global__ void __launch_bounds__(64) autoperfect_kernel(const ap::f32* const "
      "__restrict__ "
      "in0, const ap::f32* const __restrict__ in1, ap::f32* const __restrict__ out0, int ap_d0) { "))
      << candidate.source;
  EXPECT_NE(candidate.source.find("const long n_i = ap_d0; constexpr long n_j = 50; "), std::string::npos);
  EXPECT_EQ(candidate.source.find("ap::poison("), std::string::npos);
  EXPECT_NE(checked->counted_source.find("__shared__ float all[8];ap::poison(all);"), std::string::npos);
  EXPECT_NE(checked->counted_source.find("int ap_d0, unsigned char* reached) { "), std::string::npos);
}

TEST(check_code, what_no_gpu_gives_is_refused) {
  const std::string launch = "// launch: grid=n_i block=32\n", store = "out0[threadIdx.x] = in0[0];\n";
  EXPECT_EQ(
      found(check(
          scaled_exp(), {"cuda", launch + "// guard: aligned 512\n" + store}, *find_target("cuda.h200"))),
      Codes{"bad-guard@2"});
  auto two_open = parsed(
      "    in %x: f32[?i,?j] row\n    out %y: f32[?i,?j] row\n",
      "    axes i=?6, j=?50\n    %y[i,j] = exp %x[i,j] : f32\n");
  EXPECT_EQ(
      found(check(two_open, {"cuda", launch + store}, *find_target("cuda.h200"))), Codes{"unsupported@1"});
}

// The tail and the vector loop are the same for every input: their sizes are constants.
TEST(check_code, arms_are_where_data_or_sizes_decide) {
  auto checked = check_cpu(good);
  ASSERT_TRUE(checked);
  EXPECT_EQ(arms_of(*checked), (Codes{"loop body@2", "then@7", "else@7"}));
}

TEST(check_code, every_kind_of_arm_has_a_line) {
  auto checked = check_cpu(R"(for (long u = begin; u < end; ++u) {
  int n = in0[u] > 3.0f ? 1 : 2;
  while (n > 0 && in0[u] > 1.0f)
    --n;
  do {
    ++n;
  } while (n < 3);
  switch (n) {
    case 1: out0[u] = 1; break;
    case 2: out0[u] = 2; break;
  }
  if (n == 4 || (n = 5)) out0[u] = 4; else out0[u] = 5;
}
)");
  ASSERT_TRUE(checked) << format(checked.errors());
  EXPECT_EQ(
      arms_of(*checked),
      (Codes{
          "loop body@2",
          "?:@3",
          "?:@3",
          "loop body@4",
          "loop skipped@4",
          "loop repeated@8",
          "default@9",
          "case@10",
          "case@11",
          "||@13",
          "then@13",
          "else@13"}));
}

TEST(check_code, a_break_makes_the_index_data) {
  auto checked = check_cpu(R"(for (long u = begin; u < end; ++u) {
  int j = 0;
  for (; j < 8; ++j) {
    if (in0[j] > 2.0f) break;
  }
  if (j == 8) out0[u] = 1;
}
)");
  ASSERT_TRUE(checked);
  const auto arms = arms_of(*checked);
  EXPECT_EQ(
      arms, (Codes{"loop body@2", "loop body@4", "then@5", "else@5", "loop skipped@4", "then@7", "else@7"}));
}

// What a variable that ends inside a branch is given, nobody outside sees.
TEST(check_code, unrolled_loops_in_branches_on_data_stay_constant) {
  auto checked = check_cpu(R"(vf sum[4] = {};
if (in0[0] > 2.0f) {
  for (int v = 0; v < 4; ++v) sum[v] = splat(1.0f);
}
bool seen = false;
if (in0[1] > 2.0f) seen = true;
if (seen) out0[begin] = lane(sum[0]);
)");
  ASSERT_TRUE(checked);
  EXPECT_EQ(arms_of(*checked), (Codes{"then@3", "else@3", "then@7", "else@7", "then@8", "else@8"}));
}

TEST(check_code, what_functions_change_is_data) {
  auto checked = check_cpu(R"(int count = 0;
float seen = 0;
auto add = [&](float& to, int by) { to = to + by; ++count; };
add(seen, 3);
if (seen > 2) out0[0] = 1;
if (count > 0) out0[0] = 2;
)");
  ASSERT_TRUE(checked) << format(checked.errors());
  EXPECT_EQ(arms_of(*checked), (Codes{"then@6", "else@6", "then@7", "else@7"}));
}

// A pointer is copied: what is computed for it stays what it was. What a reference names may change.
TEST(check_code, what_a_pointer_is_computed_from_is_not_changed) {
  auto checked = check_cpu(R"(auto put = [&](float* to, float v) { *to = v; };
auto move = [&](long& n) { n = n + (long)in0[0]; };
for (long p = 0; p < 4; ++p) put(out0 + p, 1.0f);
for (long lo = 0, hi = 9, q = 0; q < 4; ++q) clip(lo, hi, 2 * q, 1, 4);
for (long r = 0; r < 4; ++r) move(r);
for (long s = 0, low = 0; s < 4; ++s) clip(low, s, 2, 1, n_i);
)");
  ASSERT_TRUE(checked) << format(checked.errors());
  EXPECT_EQ(arms_of(*checked), (Codes{"loop body@6", "loop skipped@6", "loop body@7"}));
}

TEST(check_code, attributes_of_branches) {
  auto checked = check_cpu(R"(for (long u = begin; u < end; ++u) {
  if (in0[u] > 2.0f) [[unlikely]] {
    out0[u] = 1;
  } else [[likely]] {
    out0[u] = 2;
  }
  if (in0[u] > 3.0f) [[likely]] continue;
  [[maybe_unused]] const float left = in0[u];
}
)");
  ASSERT_TRUE(checked) << format(checked.errors());
  EXPECT_EQ(arms_of(*checked), (Codes{"loop body@2", "then@3", "else@5", "then@8", "else@8"}));
  if (!system_compiler()) GTEST_SKIP() << "no C++ compiler";
  for (const auto& source : {checked->candidate.source, counting(*checked)})
    EXPECT_TRUE(compile_cpu(source, *system_compiler()));
}

TEST(check_code, guards_are_data) {
  auto checked = check_cpu("// guard: n_i % 8 == 0, n_i >= 16, n_i <= 4096, aligned 64\n" + good);
  ASSERT_TRUE(checked) << format(checked.errors());
  EXPECT_EQ(checked->candidate.guards, (Guards{{{0, 8, 16, 4096}}, 64}));
  EXPECT_EQ(found(check_cpu("// guard: n_j % 8 == 0\n" + good)), Codes{"bad-guard@2"});
  EXPECT_EQ(found(check_cpu("// guard: aligned 48\n" + good)), Codes{"bad-guard@2"});
}

TEST(check_code, launch_lines) {
  auto launched = [&](const std::string& line) { return found(check_cpu(good, line + "\n")); };
  EXPECT_EQ(launched("// launch: parallel=none"), Codes{});
  EXPECT_EQ(launched("// launch: parallel=i,j"), Codes{});
  EXPECT_EQ(launched("//"), Codes{"bad-launch@1"});
  EXPECT_EQ(launched("// launch: grain=4"), Codes{"bad-launch@1"});
  EXPECT_EQ(launched("// launch: parallel=k"), Codes{"bad-launch@1"});
  EXPECT_EQ(launched("// launch: parallel=i,i"), Codes{"bad-launch@1"});
  EXPECT_EQ(launched("// launch: parallel=i threads=4"), Codes{"bad-launch@1"});
  EXPECT_EQ(launched("// launch: parallel=i grain=n_i"), Codes{"bad-launch@1"});  // not a constant
  EXPECT_EQ(launched("// launch: parallel=i grain=0"), Codes{"launch-limit@1"});
  EXPECT_EQ(launched("// launch: parallel=i scratch=1024*1024*1024"), Codes{"launch-limit@1"});
  EXPECT_EQ(launched("// launch: parallel=i scratch=4/0"), Codes{"bad-launch@1"});
  EXPECT_EQ(launched("// launch: parallel=i partial=64"), Codes{"bad-launch@1"});  // no finish
  EXPECT_EQ(launched("// launch: parallel=i\n// launch: parallel=i"), Codes{"bad-launch@2"});
}

TEST(check_code, everything_wrong_is_reported_at_once) {
  auto checked = check_cpu(R"(static int calls = 0;
goto done;
in0[0] = 1;
float* p = (float*)in1;
float* q = (float*)4096;
__builtin_trap();
unknown(3);
vf v = splat(nothing);
)");
  EXPECT_EQ(
      found(checked),
      (Codes{
          "output-not-written@1",
          "not-allowed@2",
          "not-allowed@3",
          "unknown-name@3",
          "writes-input@4",
          "bad-cast@5",
          "bad-cast@6",
          "unknown-call@7",
          "unknown-call@8",
          "unknown-name@9"}));
  EXPECT_EQ(checked.errors()[9].where.column, 14);
  EXPECT_EQ(checked.errors()[9].where.length, 7);
}

TEST(check_code, tokens) {
  auto with = [&](const std::string& text) { return found(check_cpu(text + "\n" + good)); };
  EXPECT_EQ(with("#include <math.h>"), Codes{"preprocessor@2"});
  EXPECT_EQ(with("#define x"), Codes{"preprocessor@2"});
  EXPECT_EQ(with("%:define x")[1], "bad-token@2");
  EXPECT_EQ(with("// hidden \\"), Codes{"joined-lines@2"});
  EXPECT_EQ(
      with("// hidden ?"
           "?/"),
      Codes{"joined-lines@2"});
  EXPECT_EQ(with("/* open")[0], "output-not-written@1");
  EXPECT_EQ(with("const long c = 'a';"), Codes{"text-literal@2"});
  EXPECT_EQ(with("const long c = 1'000;")[1], "text-literal@2");
  EXPECT_EQ(with("const float c = 1.0i;"), Codes{"bad-number@2"});
  EXPECT_EQ(with("const float c = 1_x;"), Codes{"bad-number@2"});
  EXPECT_EQ(with("const float \xc3\xa9 = 1;")[0], "not-ascii@2");
  EXPECT_EQ(with("// caf\xc3\xa9 is fine in a comment"), Codes{});
  EXPECT_EQ(with("// \xff"), Codes{"bad-text@2"});
  EXPECT_EQ(with("// \xe2\x80\xae reversed"), Codes{"bad-text@2"});
  EXPECT_EQ(with("#pragma GCC unroll 4\nfor (int i = 0; i < 4; ++i) fence();"), Codes{});
  EXPECT_EQ(with("#pragma GCC unroll 4\nfence();"), Codes{"bad-pragma@2"});
  EXPECT_EQ(with("#pragma GCC optimize"), Codes{"preprocessor@2"});
  EXPECT_EQ(with(std::string(70000, ' ')), Codes{"too-large@0"});
  EXPECT_EQ(with(std::string(100, '(') + std::string(100, ')') + ";")[0], "too-deep@2");
}

TEST(check_code, names) {
  auto with = [&](const std::string& text) { return found(check_cpu(text + "\n" + good)); };
  EXPECT_EQ(with("const long W = 3;"), Codes{"reserved-name@2"});
  EXPECT_EQ(with("const long n_j = 3;"), Codes{"reserved-name@2"});
  EXPECT_EQ(with("long reached = 3;"), Codes{"reserved-name@2"});
  EXPECT_EQ(with("long ap_dims = 3;"), Codes{"reserved-name@2"});
  EXPECT_EQ(with("auto f = exp;"), Codes{"unknown-name@2"});
  EXPECT_EQ(with("long row = 3; long twice = row + row;"), Codes{});
  EXPECT_EQ(with("long x = ap_dims[0];"), Codes{"unknown-name@2"});
  EXPECT_EQ(with("vf x = ap::splat(3.0f);"), Codes{});
  EXPECT_EQ(with("vf x = std::splat(3.0f);")[0], "unknown-name@2");
  EXPECT_EQ(with("::exit(0);")[0], "not-allowed@2");
  EXPECT_EQ(with("ap::raw_load_lanes<vf>(in0, 3);")[0], "unknown-name@2");
  EXPECT_EQ(with("auto f = [&](auto self) { };"), Codes{"bad-lambda@2"});
  EXPECT_EQ(with("fence([&](int i) { });")[0], "bad-lambda@2");
  EXPECT_EQ(with("float big[n_i];"), Codes{"bad-array@2"});
  EXPECT_EQ(with("float most[n_j + W];"), Codes{});
  EXPECT_EQ(with("begin = 0;"), Codes{"reserved-name@2"});
  EXPECT_EQ(with("[[noreturn]] fence();")[0], "not-allowed@2");
}

// The counted source as a kernel of the usual parameters, whose partial result is what it counts.
std::string counting(const Checked& checked) {
  std::string source = checked.counted_source;
  const std::string name = "extern \"C\" void autoperfect_kernel";
  source.replace(source.find(name), name.size(), "static void counted");
  return source + name +
         "(const void* const* in, void* const* out, void* scratch, void* partial, const long* dims, long "
         "begin, "
         "long end) { counted(in, out, scratch, partial, dims, begin, end, (unsigned char*)partial); }\n";
}

// Runs both builds on the two inputs, which must give the same; returns that, and which arms were reached.
std::pair<std::vector<float>, std::vector<int>> run_both(
    const Checked& checked, const std::vector<float>& x, const std::vector<float>& w, long rows) {
  std::vector<std::vector<float>> results;
  std::vector<unsigned char> reached(checked.arms.size() + 1, 0);
  for (const auto& source : {checked.candidate.source, counting(checked)}) {
    auto binary = compile_cpu(source, *system_compiler());
    if (!binary) throw std::runtime_error(format(binary.errors(), source) + source);
    auto loaded = load_cpu(*binary, checked.candidate.launch);
    if (!loaded) throw std::runtime_error(format(loaded.errors()));
    std::vector<float> y(x.size(), -1);
    const void* in[] = {x.data(), w.data()};
    void* out[] = {y.data()};
    (*loaded)->kernel(in, out, nullptr, reached.data(), &rows, 0, rows);
    results.push_back(y);
  }
  EXPECT_EQ(results[0], results[1]);
  return {results[0], {reached.begin(), reached.end() - 1}};
}

TEST(check_code, the_counted_source_computes_the_same) {
  if (!system_compiler()) GTEST_SKIP() << "no C++ compiler";
  auto checked = check_cpu(good);
  ASSERT_TRUE(checked);
  std::vector<float> x, w;
  for (int i = 0; i < 300; ++i)
    x.push_back(0.01f * i);
  for (int i = 0; i < 50; ++i)
    w.push_back(1 - 0.03f * i);
  auto [y, reached] = run_both(*checked, x, w, 6);
  EXPECT_EQ(reached, (std::vector<int>{1, 0, 1}));
  for (int i = 0; i < 300; ++i)
    EXPECT_NEAR(y[i], std::exp(x[i] * w[i % 50]), 1e-5);
}

// Every arm of every form, reached by data that is chosen for it.
TEST(check_code, counters_of_all_forms_compile_and_count) {
  if (!system_compiler()) GTEST_SKIP() << "no C++ compiler";
  auto checked = check_cpu(R"(for (long u = begin; u < end; ++u) {
  const float v = in0[u];
  int n = v > 3.0f ? v > 5.0f ? 1 : 2 : 3, m = 0;
#pragma GCC unroll 2
  for (int k = 0; k < n && v > 1.0f; ++k)
    m += k;
  if (v < 0) continue;
  do
    ++m;
  while (m < n);
  switch (n) {
    case 1: m += 10;
    case 2: m += 20; break;
  }
  if (v > 4 && (m += 100)) if (v > 6) m += 1000; else m += 2000;
  auto twice = [&](float& to) __attribute__((always_inline)) { if (to > 8.0f) to = 0; to = to * 2; };
  float w = v;
  twice(w);
  out0[u] = w + m;
}
)");
  ASSERT_TRUE(checked) << format(checked.errors());
  const std::vector<float> x = {-1, 0.5, 2, 3.5, 4.5, 5.5, 7, 9};
  auto [y, reached] = run_both(*checked, x, x, 8);
  EXPECT_EQ(y, (std::vector<float>{-1, 4, 8, 29, 2131, 2142, 1145, 1131}));
  for (size_t a = 0; a < reached.size(); ++a)
    EXPECT_EQ(reached[a], 1) << checked->arms[a].what << " of line " << checked->arms[a].line;
}

TEST(check_code, a_finish_combines_partial_results) {
  auto kernel = parsed(
      "    in %x: f32[?i] row\n    out %y: f32[] row\n", "    axes i=?6\n    %y[] = sum(i) %x[i] : f32\n");
  const std::string source = R"(// launch: parallel=i partial=4
float sum = 0;
for (long u = begin; u < end; ++u) sum += in0[u];
*(float*)partial = sum;
// finish:
float sum = 0;
for (long c = 0; c < chunks; ++c) sum += *(const float*)(partials + c * partial_step);
out0[0] = sum;
)";
  auto checked = check(kernel, {"cpu", source}, *find_target("cpu.avx2"));
  ASSERT_TRUE(checked) << format(checked.errors(), source);
  EXPECT_EQ(checked->candidate.launch.partial_bytes, 4);
  EXPECT_EQ(arms_of(*checked), (Codes{"loop body@3", "loop body@7"}));
  EXPECT_NE(checked->candidate.source.find("autoperfect_finish"), std::string::npos);
  if (!system_compiler()) GTEST_SKIP() << "no C++ compiler";
  auto binary = compile_cpu(checked->candidate.source, *system_compiler());
  EXPECT_TRUE(binary) << format(binary.errors(), checked->candidate.source);
}

// Lines of compiler messages lead back to the draft.
TEST(check_code, compiler_messages_count_the_drafts_lines) {
  if (!system_compiler()) GTEST_SKIP() << "no C++ compiler";
  auto checked = check_cpu(good + "vf wrong = 3.0f;\n");
  ASSERT_TRUE(checked);
  auto binary = compile_cpu(checked->candidate.source, *system_compiler());
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.errors()[0].where.line - checked->first_line, 13);
}

TEST(check_code, unknown_language) {
  EXPECT_EQ(
      found(check(scaled_exp(), {"fortran", ""}, *find_target("cpu.avx2"))), Codes{"unknown-language@0"});
}

}  // namespace
}  // namespace autoperfect

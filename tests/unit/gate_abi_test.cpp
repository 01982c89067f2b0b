// The gate on kernels whose buffers are strided, aliased, temporary or of several dynamic sizes: the built-in
// code passes, and code that takes the ABI for another one does not.
#include <gtest/gtest.h>

#include "compile/cpu/compile.h"
#include "gate/gate.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "kernel_parts.h"

namespace autoperfect {
namespace {

Kernel kernel_of(const std::string& buffers, const std::string& math) {
  return parse_or_throw(kernel_text(buffers, math));
}

Verdict gate_source(const Kernel& kernel, const std::string& source, const Launch& launch) {
  Candidate candidate;
  candidate.source = source;
  candidate.launch = launch;
  auto binary = compile_cpu(source, *system_compiler());
  EXPECT_TRUE(binary.ok()) << format(binary.errors()) << source;
  GateOptions options;
  options.seed = 11;
  return binary ? gate(kernel, candidate, *binary, options) : Verdict{};
}

std::string failures_of(const Verdict& verdict) {
  return verdict.failures.empty() ? "" : verdict.failures[0].message;
}

void expect_all_pass(const Kernel& kernel) {
  auto candidates = generate_schedules(kernel, default_cpu_target());
  ASSERT_FALSE(candidates.empty()) << print(kernel);
  for (auto& candidate : candidates) {
    auto verdict = gate_source(kernel, candidate.source, candidate.launch);
    EXPECT_TRUE(verdict.admitted) << failures_of(verdict) << "\n" << print(kernel) << candidate.source;
  }
}

// --- the built-in schedules

const char* layouts[] = {
    "row",
    "strides=[1,40]",
    "strides=[80,2]",
    "strides=[100,1] offset=3 align=64",
    "strides=[0,1]",
    "strides=[1,0]",
    "strides=[0,0]",
    "strides=[-36,-1] offset=1439",
    "strides=[36,-1] offset=35",
    "strides=[?,1]",
    "strides=[1,?]",
    "strides=[?,?]",
};

TEST(GateAbi, ElementwiseOfEveryLayout) {
  for (const char* layout : layouts)
    expect_all_pass(kernel_of(
        "    in %x: f32[40,36] " + std::string(layout) +
            "\n    in %z: f32[40,36] row\n    out %y: f32[40,36] row\n",
        "    axes i=40, j=36\n    %a[i,j] = exp %x[i,j] : f32\n    %y[i,j] = mul %a[i,j], %z[i,j] : f32\n"));
}

TEST(GateAbi, RowsOfEveryLayout) {
  for (const char* layout : layouts)
    expect_all_pass(kernel_of(
        "    in %x: f32[40,36] " + std::string(layout) + "\n    out %y: f32[40,36] row\n",
        "    axes i=40, j=36\n    %m[i] = max(j) %x[i,j] : f32\n    %d[i,j] = sub %x[i,j], %m[i] : f32\n"
        "    %e[i,j] = exp %d[i,j] : f32\n    %s[i] = sum(j) %e[i,j] : f32\n"
        "    %y[i,j] = div %e[i,j], %s[i] : f32\n"));
}

TEST(GateAbi, ColumnsAndGuardsOfEveryLayout) {
  for (const char* layout : layouts)
    expect_all_pass(kernel_of(
        "    in %x: bf16[40,36] " + std::string(layout) +
            "\n    out %y: bf16[36] row\n    out %z: bf16[40,40] row\n",
        "    axes i=40, j=36, k=40\n    %y[j] = sum(i) %x[i,j] : bf16\n"
        "    %z[i,k] = copy %x[i,k-2] else 0.0 : bf16\n"));
}

TEST(GateAbi, ProductsOfEveryLayout) {
  for (const char* layout : layouts)
    expect_all_pass(kernel_of(
        "    in %x: f32[40,36] " + std::string(layout) +
            "\n    in %w: f32[36,24] strides=[1,36]\n"
            "    out %y: f32[40,24] row\n",
        "    axes i=40, j=24, k=36\n    %c[i,j] = matmul(k) %x[i,k], %w[k,j] : f32\n"
        "    %y[i,j] = maximum %c[i,j], 0.0 : f32\n"));
}

TEST(GateAbi, GathersOfStridedTables) {
  expect_all_pass(kernel_of(
      "    in %t: f32[50,36] strides=[?,1]\n    in %id: i32[?n] strides=[2]\n    out %y: f32[?n,36] row\n",
      "    axes n=?9, j=36\n    %k[n] = copy %id[n] : i32\n    %y[n,j] = copy %t[%k[n],j] : f32\n"));
}

TEST(GateAbi, SeveralDynamicAxes) {
  expect_all_pass(kernel_of(
      "    in %x: f32[?i,?j] row\n    in %w: f32[?j] row\n    out %y: f32[?i,?j] row alias=%x\n",
      "    axes i=?40, j=?36\n    %a[i,j] = exp %x[i,j] : f32\n    %y[i,j] = mul %a[i,j], %w[j] : f32\n"));
  expect_all_pass(kernel_of(
      "    in %x: f32[?i,?j,8] row\n    in %z: f32[?j,?i,8] row\n    out %y: f32[?i,?j] row\n"
      "    out %t: f32[?i,?j,8] row\n",
      "    axes i=?5, j=?7, k=8\n    %y[i,j] = sum(k) %x[i,j,k] : f32\n"
      "    %t[i,j,k] = add %x[i,j,k], %z[j,i,k] : f32\n"));
}

TEST(GateAbi, AliasedOutputs) {
  expect_all_pass(kernel_of(
      "    in %x: f32[?i,33] row\n    in %z: f32[?i,33] row\n    out %y: f32[?i,33] row alias=%x\n"
      "    out %w: u32[?i,33] row alias=%z\n",
      "    axes i=?21, j=33\n    %a[i,j] = exp %x[i,j] : f32\n    %y[i,j] = mul %a[i,j], 3.0 : f32\n"
      "    %b[i,j] = abs %z[i,j] : f32\n    %c[i,j] = minimum %b[i,j], 1000.0 : f32\n"
      "    %d[i,j] = greater %c[i,j], 1.0 : bool\n    %w[i,j] = cast %d[i,j] : u32\n"));
}

// --- drafts

const char* head =
    "extern \"C\" void autoperfect_kernel(const void* const* in, void* const* out, void*, void*, const long* "
    "dims, long begin, long end) {\n";

Kernel doubled() {
  return kernel_of(
      "    in %x: f32[?i,4] strides=[?,1]\n    out %y: f32[?i,4] row\n",
      "    axes i=?6, j=4\n    %y[i,j] = mul %x[i,j], 2.0 : f32\n");
}

Launch along(std::vector<AxisId> axes) {
  Launch launch;
  launch.parallel = std::move(axes);
  return launch;
}

std::string doubled_source(const std::string& stride) {
  return head +
         ("  auto* x = (const float*)in[0]; auto* y = (float*)out[0];\n  for (long i = begin; i < end; ++i)\n"
          "    for (long j = 0; j < 4; ++j) y[i * 4 + j] = 2 * x[i * " +
          stride + " + j];\n}\n");
}

TEST(GateAbi, DraftsReadFreeStridesAfterTheSizes) {
  EXPECT_TRUE(gate_source(doubled(), doubled_source("dims[1]"), along({0})).admitted);
  EXPECT_FALSE(gate_source(doubled(), doubled_source("4"), along({0})).admitted);
  EXPECT_FALSE(gate_source(doubled(), doubled_source("dims[0]"), along({0})).admitted);
}

// The sum of everything, by way of a temporary of one number a row, which finish() adds up.
Kernel summed() {
  return kernel_of(
      "    in %x: f32[?i,8] row\n    out %y: f32[] row\n    temp %t: f64[?i] row\n",
      "    axes i=?6, j=8\n    %y[] = sum(i,j) %x[i,j] : f32\n");
}

std::string summed_source(const std::string& in_kernel, const std::string& in_finish) {
  return head + in_kernel +
         "}\nextern \"C\" void autoperfect_finish(const void* const*, void* const* out, const void*, long, "
         "const "
         "long* dims) {\n" +
         in_finish + "}\n";
}

const std::string sum_rows =
    "  auto* x = (const float*)in[0]; auto* t = (double*)out[1];\n  for (long i = begin; i < end; ++i) {\n"
    "    t[i] = 0;\n    for (long j = 0; j < 8; ++j) t[i] += x[i * 8 + j];\n  }\n";
const std::string sum_temporary =
    "  auto* t = (const double*)out[1];\n  double sum = 0;\n  for (long i = 0; i < dims[0]; ++i) sum += "
    "t[i];\n"
    "  *(float*)out[0] = sum;\n";

TEST(GateAbi, TemporariesComeAfterOutputs) {
  auto launch = along({0});
  launch.partial_bytes = 8;
  auto verdict = gate_source(summed(), summed_source(sum_rows, sum_temporary), launch);
  EXPECT_TRUE(verdict.admitted) << failures_of(verdict);
}

TEST(GateAbi, TemporariesHoldNothingAtFirst) {
  auto launch = along({0});
  launch.partial_bytes = 8;
  auto lazy = sum_rows;
  lazy.replace(lazy.find("    t[i] = 0;\n"), 14, "");
  EXPECT_FALSE(gate_source(summed(), summed_source(lazy, sum_temporary), launch).admitted);
}

TEST(GateAbi, NothingBeyondATemporaryIsTouched) {
  auto launch = along({0});
  launch.partial_bytes = 8;
  auto past = sum_rows + "  t[dims[0]] = 1;\n";
  auto verdict = gate_source(summed(), summed_source(past, sum_temporary), launch);
  EXPECT_FALSE(verdict.admitted);
  EXPECT_NE(failures_of(verdict).find("%t"), std::string::npos) << failures_of(verdict);
}

// Right when the two lie apart: it reads elements that it has written over already.
TEST(GateAbi, AnAliasedOutputIsReadBeforeItIsWritten) {
  auto kernel = kernel_of(
      "    in %x: f32[?i] row\n    out %y: f32[?i] row alias=%x\n",
      "    axes i=?64\n    %a[i] = add %x[i], 1.0 : f32\n    %y[i] = mul %a[i], %x[i] : f32\n");
  auto source = [](const char* rest) {
    return head +
           ("  auto* x = (const float*)in[0]; auto* y = (float*)out[0];\n" + std::string(rest) + "}\n");
  };
  EXPECT_TRUE(
      gate_source(
          kernel, source("  for (long i = begin; i < end; ++i) y[i] = (x[i] + 1) * x[i];\n"), along({0}))
          .admitted);
  auto verdict = gate_source(
      kernel,
      source("  for (long i = begin; i < end; ++i) y[i] = x[i] + 1;\n"
             "  for (long i = begin; i < end; ++i) y[i] = y[i] * x[i];\n"),
      along({0}));
  EXPECT_FALSE(verdict.admitted);
  EXPECT_NE(failures_of(verdict).find("memory of an input"), std::string::npos) << failures_of(verdict);
}

}  // namespace
}  // namespace autoperfect

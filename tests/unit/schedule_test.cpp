// Regions of graphs, lowered and generated. See schedule_kernels_test.cpp for kernels as text.
#include "canonicalize/canonicalize.h"
#include "fuse/fuse.h"
#include "ir/graph_text.h"
#include "lower/lower.h"
#include "schedule_check.h"

namespace autoperfect {
namespace {

// All regions of a graph, each through the generator.
void check_graph(const std::string& text, size_t regions = 1, bool expect_candidates = true) {
  auto graph = parse_graph("autoperfect.graph 1\n" + text);
  ASSERT_TRUE(graph.ok()) << format(graph.errors(), text);
  Canonical canonical = canonicalize(*graph);
  FuseOptions options;
  options.gate_by_cost = false;
  Plan plan = fuse(canonical.graph, default_cpu_target(), options);
  ASSERT_EQ(plan.regions.size(), regions) << print(canonical.graph);
  for (auto& region : plan.regions) {
    auto kernel = lower(canonical.graph, region);
    ASSERT_TRUE(kernel.ok()) << format(kernel.errors()) << print(canonical.graph);
    check_kernel(*kernel, expect_candidates);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(schedule, elementwise_chain) {
  check_graph(R"(graph @g(%x: f32[33,70], %y: f32[33,70]) {
  %a = mul %x, %y : f32[33,70]
  %b = tanh %a : f32[33,70]
  %c = add %b, %x : f32[33,70]
  return %c
}
)");
}

TEST(schedule, powers) {
  for (std::string exponent : {"2.0", "3.0", "2.5", "-1.0"})
    check_graph(
        "graph @g(%x: f32[50]) {\n  %p = const " + exponent + " : f32[]\n  %a = abs %x : f32[50]\n" +
        "  %y = power %a, %p : f32[50]\n  return %y\n}\n");
}

TEST(schedule, broadcast_of_rows_columns_and_scalars) {
  check_graph(R"(graph @g(%x: f32[19,45], %row: f32[45], %column: f32[19,1], %s: f32[]) {
  %a = add %x, %row : f32[19,45]
  %b = mul %a, %column : f32[19,45]
  %c = sub %b, %s : f32[19,45]
  return %c
}
)");
}

TEST(schedule, bf16_rounds_at_each_op) {
  check_graph(R"(graph @g(%x: bf16[40,70], %w: bf16[70]) {
  %a = mul %x, %w : bf16[40,70]
  %b = sigmoid %a : bf16[40,70]
  %c = mul %b, %x : bf16[40,70]
  return %c
}
)");
}

TEST(schedule, mixed_dtypes_and_selects) {
  check_graph(R"(graph @g(%x: f16[21,37], %k: i32[21,37], %m: bool[37]) {
  %zero = const 0 : i32[]
  %low = const -inf : f32[]
  %y = cast %x : f32[21,37]
  %p = greater %k, %zero : bool[21,37]
  %q = logical_and %p, %m : bool[21,37]
  %r = select %q, %y, %low : f32[21,37]
  %t = cast %r : bf16[21,37]
  %i = cast %q : i64[21,37]
  return %t, %i
}
)");
}

TEST(schedule, layer_norm) {
  check_graph(R"(graph @g(%x: f32[9,133], %w: f32[133], %b: f32[133]) {
  %mean = mean %x axes=[1] keepdims=true : f32[9,1]
  %var = var %x axes=[1] ddof=0 keepdims=true : f32[9,1]
  %eps = const 1e-05 : f32[]
  %diff = sub %x, %mean : f32[9,133]
  %shifted = add %var, %eps : f32[9,1]
  %inv = rsqrt %shifted : f32[9,1]
  %normal = mul %diff, %inv : f32[9,133]
  %gained = mul %normal, %w : f32[9,133]
  %y = add %gained, %b : f32[9,133]
  return %y
}
)");
}

TEST(schedule, softmax_of_several_dtypes_and_lengths) {
  for (std::string dtype : {"f32", "bf16", "f16"})
    for (std::string n : {"3", "64", "257"})
      check_graph(
          "graph @g(%x: " + dtype + "[5,7," + n + "]) {\n  %y = softmax %x precise=true : " + dtype +
          "[5,7," + n + "]\n  return %y\n}\n");
}

TEST(schedule, logsumexp_and_argmax_share_the_row) {
  check_graph(R"(graph @g(%x: f32[11,129]) {
  %l = logsumexp %x : f32[11,1]
  %a = argmax %x axis=1 keepdims=false : u32[11]
  %n = argmin %x axis=1 keepdims=true : u32[11,1]
  return %l, %a, %n
}
)");
}

TEST(schedule, full_reductions_with_a_scalar_epilogue) {
  check_graph(R"(graph @g(%x: f32[70,90], %w: f32[90]) {
  %s = square %x : f32[70,90]
  %t = mul %s, %w : f32[70,90]
  %sum = sum %t axes=[0,1] keepdims=false : f32[]
  %max = max %x axes=[0,1] keepdims=false : f32[]
  %root = abs %sum : f32[]
  %r = sqrt %root : f32[]
  %d = div %r, %max : f32[]
  return %d
}
)");
}

TEST(schedule, integer_reductions) {
  check_graph(R"(graph @g(%x: i32[13,50], %m: bool[13,50]) {
  %s = sum %x axes=[1] keepdims=false : i32[13]
  %p = max %x axes=[1] keepdims=false : i32[13]
  %c = sum %m axes=[1] keepdims=false : i32[13]
  %any = any %m axes=[1] keepdims=false : bool[13]
  %t = add %s, %p : i32[13]
  %u = add %t, %c : i32[13]
  %z = select %any, %u, %s : i32[13]
  return %z
}
)");
}

TEST(schedule, several_outputs_of_other_rank) {
  check_graph(R"(graph @g(%x: bf16[6,65], %r: bf16[6,65], %w: bf16[65]) {
  %h = add %x, %r : bf16[6,65]
  %f = cast %h : f32[6,65]
  %sq = square %f : f32[6,65]
  %ms = mean %sq axes=[1] keepdims=true : f32[6,1]
  %eps = const 1e-06 : f32[]
  %e = add %ms, %eps : f32[6,1]
  %inv = rsqrt %e : f32[6,1]
  %n = mul %f, %inv : f32[6,65]
  %c = cast %n : bf16[6,65]
  %y = mul %w, %c : bf16[6,65]
  return %h, %y, %inv
}
)");
}

TEST(schedule, views_are_folded_into_loads) {
  check_graph(R"(graph @g(%x: f32[30,20], %y: f32[40,60]) {
  %t = transpose %x axes=[1,0] : f32[20,30]
  %s = slice %y start=[1,59] stop=[21,-61] strides=[1,-2] : f32[20,30]
  %a = mul %t, %s : f32[20,30]
  %b = exp %a : f32[20,30]
  return %b
}
)");
}

TEST(schedule, columns) {
  check_graph(R"(graph @g(%x: f32[37,70], %w: f32[70], %r: f32[37,1]) {
  %a = mul %x, %w : f32[37,70]
  %b = add %a, %r : f32[37,70]
  %s = sum %b axes=[0] keepdims=true : f32[1,70]
  %m = max %x axes=[0] keepdims=true : f32[1,70]
  %d = sub %s, %m : f32[1,70]
  %e = mul %d, %w : f32[1,70]
  return %e
}
)");
  check_graph(R"(graph @g(%x: bf16[5,9,35]) {
  %m = mean %x axes=[1] keepdims=true : bf16[5,1,35]
  %d = sub %x, %m : bf16[5,9,35]
  %v = var %x axes=[1] keepdims=true : bf16[5,1,35]
  %e = const 0.0009765625 : bf16[]
  %s = add %v, %e : bf16[5,1,35]
  %i = rsqrt %s : bf16[5,1,35]
  %y = mul %d, %i : bf16[5,9,35]
  return %y
}
)");
  check_graph(R"(graph @g(%x: i32[4,6,5,33]) {
  %s = sum %x axes=[0,2] keepdims=false : i32[6,33]
  return %s
}
)");
}

// So wide that a GPU's multiprocessors each have columns of their own; so long that several share some.
TEST(schedule, wide_columns) {
  for (std::string t : {"f32", "bf16", "f16"})
    check_graph(
        "graph @g(%x: " + t + "[37,4136]) {\n  %s = sum %x axes=[0] keepdims=true : " + t +
        "[1,4136]\n  %m = min %x axes=[0] keepdims=true : " + t + "[1,4136]\n  %d = sub %s, %m : " + t +
        "[1,4136]\n  return %d\n}\n");
  check_graph(R"(graph @g(%x: bf16[2100,264]) {
  %s = sum %x axes=[0] keepdims=true : bf16[1,264]
  %m = max %x axes=[0] keepdims=true : bf16[1,264]
  %d = sub %s, %m : bf16[1,264]
  return %d
}
)");
  check_graph(R"(graph @g(%x: f32[19,4100]) {
  %m = max %x axes=[0] keepdims=true : f32[1,4100]
  %d = sub %x, %m : f32[19,4100]
  %e = exp %d : f32[19,4100]
  %s = sum %e axes=[0] keepdims=true : f32[1,4100]
  %y = div %e, %s : f32[19,4100]
  return %y
}
)");
}

// As many elements a thread as its registers hold, the largest by pairs.
TEST(schedule, long_rows_of_halves) {
  for (std::string t : {"bf16", "f16"}) {
    check_graph("graph @g(%x: " + t + "[5,4096]) {\n  %y = logsumexp %x : " + t + "[5,1]\n  return %y\n}\n");
    check_graph(
        "graph @g(%x: " + t + "[5,4104]) {\n  %m = max %x axes=[1] keepdims=true : " + t +
        "[5,1]\n  %n = min %x axes=[1] keepdims=true : " + t + "[5,1]\n  %c = const 1.4140625 : " + t +
        "[]\n  %d = sub %x, %m : " + t + "[5,4104]\n  %e = div %d, %c : " + t +
        "[5,4104]\n  %y = sub %e, %n : " + t + "[5,4104]\n  return %y\n}\n");
  }
}

// Each begins at another place of a word, and so does a part of one.
TEST(schedule, long_rows_of_odd_length) {
  for (std::string t : {"f32", "bf16", "f16"}) {
    check_graph(
        "graph @g(%x: " + t + "[5,1037], %w: " + t + "[1037]) {\n  %e = softmax %x : " + t +
        "[5,1037]\n  %y = mul %e, %w : " + t + "[5,1037]\n  return %y\n}\n");
    check_graph(
        "graph @g(%x: " + t +
        "[3,7,1037]) {\n  %p = slice %x start=[0,2,5] stop=[3,7,1036] strides=[1,1,1] : " + t +
        "[3,5,1031]\n  %s = sum %p axes=[2] keepdims=false : " + t +
        "[3,5]\n  %a = argmax %p axis=2 : u32[3,5]\n"
        "  return %s, %a\n}\n");
  }
}

TEST(schedule, elements_of_rows_of_odd_length) {
  for (auto [t, rows] : {std::pair<std::string, std::string>{"f32", "130"}, {"bf16", "260"}}) {
    check_graph(
        "graph @g(%x: " + t + "[" + rows + ",4099], %w: " + t + "[4099]) {\n  %y = add %x, %w : " + t + "[" +
        rows + ",4099]\n  return %y\n}\n");
    check_graph(
        "graph @g(%x: " + t + "[2," + rows + ",4103], %w: " + t + "[" + rows +
        ",1]) {\n  %p = slice %x start=[0,0,3] stop=[2," + rows + ",4100] strides=[1,1,1] : " + t + "[2," +
        rows + ",4097]\n  %m = mul %p, %w : " + t + "[2," + rows + ",4097]\n  %y = cast %m : f16[2," + rows +
        ",4097]\n  return %m, %y\n}\n");
  }
}

TEST(schedule, erf_and_exp_of_halves) {
  for (std::string t : {"bf16", "f16"})
    check_graph(
        "graph @g(%x: " + t + "[67,64], %z: " + t + "[67,64]) {\n  %a = erf %x : " + t +
        "[67,64]\n  %b = exp %x : " + t + "[67,64]\n  %c = mul %a, %b : " + t +
        "[67,64]\n  %d = erf %z : " + t + "[67,64]\n  %y = add %c, %d : " + t + "[67,64]\n  return %y\n}\n");
}

TEST(schedule, iota) {
  check_graph(R"(graph @g(%x: f32[12,48]) {
  %i = arange dtype=i32 size=48 start=0.0 step=1.0 : i32[48]
  %n = const 30 : i32[]
  %keep = less %i, %n : bool[48]
  %low = const -inf : f32[]
  %y = select %keep, %x, %low : f32[12,48]
  %m = max %y axes=[1] keepdims=true : f32[12,1]
  %z = sub %y, %m : f32[12,48]
  return %z
}
)");
}

TEST(schedule, views_of_constants_and_aranges) {
  check_graph(
      R"(graph @g(%x: f32[5,30]) {
  %i = arange size=60 start=3.0 step=2.0 : f32[60]
  %odd = slice %i start=[59] stop=[-61] strides=[-2] : f32[30]
  %half = const 0.5 : f32[]
  %wide = broadcast %half : f32[5,30]
  %a = mul %x, %odd : f32[5,30]
  %b = add %a, %wide : f32[5,30]
  %s = sum %wide axes=[1] keepdims=true : f32[5,1]
  %c = mul %b, %s : f32[5,30]
  return %c
}
)",
      1);
}

TEST(schedule, argmax_takes_the_first_nan) {
  for (std::string n : {"7", "200"}) {
    auto graph = parse_graph(
        "autoperfect.graph 1\ngraph @g(%x: f32[4," + n + "]) {\n  %a = argmax %x axis=1 : u32[4]\n" +
        "  %b = argmin %x axis=1 : u32[4]\n  return %a, %b\n}\n");
    ASSERT_TRUE(graph.ok()) << format(graph.errors());
    FuseOptions options;
    options.gate_by_cost = false;
    auto kernel = lower(*graph, fuse(*graph, default_cpu_target(), options).regions.at(0));
    int width = std::stoi(n);
    Tensor x = Tensor::zeros({Dtype::f32, {4, width}});
    for (int j = 0; j < width; ++j) {
      x.set(j, j == 5 || j == 6 ? NAN : j);
      x.set(width + j, -INFINITY);
      x.set(2 * width + j, j % 5 == 3 ? 2 : j % 5 == 4 ? -2 : 0);
      x.set(3 * width + j, j == 0 ? NAN : 1);
    }
    for (auto& candidate : generate_schedules(*kernel, test_target())) {
      auto run = prepare(candidate);
      ASSERT_TRUE(run.ok()) << format(run.errors()) << candidate.source;
      for (auto& got : (*run)(*kernel, {x})) {
        EXPECT_EQ(got[0].values(), (std::vector<double>{5, 0, 3, 0}));
        EXPECT_EQ(got[1].values(), (std::vector<double>{5, 0, 4, 0}));
      }
    }
  }
}

TEST(schedule, rows_of_minus_infinity_and_nan) {
  for (Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    std::string t(name(dtype));
    auto kernel = parse_kernel(
        "autoperfect.kernel 1\nkernel @softmax {\n  abi {\n    in %x: " + t + "[3,20] row\n    out %y: " + t +
        "[3,20] row\n  }\n  math {\n    axes i=3, j=20\n    %w[i,j] = cast %x[i,j] : f32\n"
        "    %m[i] = max(j) %w[i,j] : f32\n    %d[i,j] = sub %w[i,j], %m[i] : f32\n"
        "    %e[i,j] = exp %d[i,j] : f32\n    %s[i] = sum(j) %e[i,j] : f32\n"
        "    %q[i,j] = div %e[i,j], %s[i] : f32\n    %y[i,j] = cast %q[i,j] : " +
        t + "\n  }\n  numerics {\n    accumulate f32\n  }\n}\n");
    ASSERT_TRUE(kernel.ok()) << format(kernel.errors());
    Tensor x = Tensor::zeros({dtype, {3, 20}});
    for (int j = 0; j < 20; ++j)
      x.set(j, -INFINITY), x.set(20 + j, j == 3 ? -INFINITY : j * 0.25), x.set(40 + j, j == 17 ? NAN : 1);
    for (auto& candidate : generate_schedules(*kernel, test_target())) {
      auto run = prepare(candidate);
      ASSERT_TRUE(run.ok()) << format(run.errors()) << candidate.source;
      for (auto& got : (*run)(*kernel, {x})) {
        for (int j = 0; j < 20; ++j) {
          EXPECT_TRUE(std::isnan(got[0].at(j)));
          EXPECT_EQ(got[0].at(20 + j) == 0, j == 3);
          EXPECT_TRUE(std::isnan(got[0].at(40 + j)));
        }
        EXPECT_NEAR(got[0].at(39), 0.2236, 0.001);
      }
    }
  }
}

}  // namespace
}  // namespace autoperfect

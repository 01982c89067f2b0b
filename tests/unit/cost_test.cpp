#include "cost/cost.h"

#include <gtest/gtest.h>

#include "cost/bytes.h"
#include "cost/footprint.h"
#include "cost/mlx_cost.h"
#include "fuse/fuse.h"
#include "ir/graph_text.h"

namespace autoperfect {
namespace {

Target named(const char* name) {
  return *find_target(name);
}

Graph parse(const std::string& text) {
  auto graph = parse_graph("autoperfect.graph 1\n" + text);
  EXPECT_TRUE(graph) << format(graph.errors());
  return std::move(*graph);
}

// All nodes as one region: every input is read, every output written.
RegionCost cost_of_all(const Graph& graph, const Target& target) {
  std::vector<NodeId> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (class_of(graph.nodes[n].op) != OpClass::source) nodes.push_back(static_cast<NodeId>(n));
  std::vector<ValueId> inputs;
  for (const auto& input : graph.inputs)
    inputs.push_back(input.value);
  return cost_of(graph, nodes, inputs, graph.outputs, target);
}

RegionCost cost_of_text(const std::string& text, const char* target = "cpu.avx512") {
  return cost_of_all(parse(text), named(target));
}

const char* layer_norm = R"(graph @layer_norm(%x: f32[4096,4096], %w: f32[4096]) {
  %total = sum %x axes=[1] keepdims=true : f32[4096,1]
  %diff = sub %x, %total : f32[4096,4096]
  %square = square %diff : f32[4096,4096]
  %var = sum %square axes=[1] keepdims=true : f32[4096,1]
  %inv = rsqrt %var : f32[4096,1]
  %norm = mul %diff, %inv : f32[4096,4096]
  %y = mul %norm, %w : f32[4096,4096]
  return %y
}
)";

TEST(Cost, CountsBytesAndSweepsOfALayerNorm) {
  auto cost = cost_of_text(layer_norm);
  constexpr int64_t whole = int64_t{4096} * 4096 * 4;
  EXPECT_EQ(cost.bytes_read, whole + 4096 * 4);
  EXPECT_EQ(cost.bytes_written, whole);
  EXPECT_EQ(cost.footprint.sweeps, 3);
  EXPECT_EQ(cost.footprint.row_bytes, 4096 * 4);
  EXPECT_EQ(cost.bytes_reread, 0);
  EXPECT_EQ(cost.footprint.ops, 7);
  EXPECT_EQ(cost.footprint.buffers, 3);
  EXPECT_EQ(cost.bound, Bound::memory);
  EXPECT_NEAR(cost.memory_seconds, (2.0 * whole + 4096 * 4) / 40e9, 1e-9);
}

TEST(Cost, RowsBeyondTheCacheAreReadAgainByEachSweep) {
  auto cost = cost_of_text(R"(graph @softmax(%x: f32[4,4194304]) {
  %top = max %x axes=[1] keepdims=true : f32[4,1]
  %shifted = sub %x, %top : f32[4,4194304]
  %e = exp %shifted : f32[4,4194304]
  %total = sum %e axes=[1] keepdims=true : f32[4,1]
  %y = div %e, %total : f32[4,4194304]
  return %y
}
)");
  EXPECT_EQ(cost.footprint.sweeps, 3);
  EXPECT_EQ(cost.footprint.row_bytes, 4194304 * 4);
  EXPECT_EQ(cost.bytes_reread, 2 * cost.bytes_read);
}

TEST(Cost, AReductionOverAllIsOneSweepUnlessItsResultIsReadBack) {
  auto alone = cost_of_text(R"(graph @total(%x: f32[4096,4096]) {
  %y = sum %x axes=[0, 1] : f32[]
  return %y
}
)");
  EXPECT_EQ(alone.footprint.sweeps, 1);
  EXPECT_EQ(alone.bytes_reread, 0);
  auto read_back = cost_of_text(R"(graph @scaled(%x: f32[4096,4096]) {
  %total = sum %x axes=[0, 1] : f32[]
  %y = mul %x, %total : f32[4096,4096]
  return %y
}
)");
  EXPECT_EQ(read_back.footprint.sweeps, 2);
  EXPECT_EQ(read_back.bytes_reread, read_back.bytes_read);
}

TEST(Cost, LargeTensorsDoNotOverflow) {
  auto graph = parse(R"(graph @large(%x: f32[1048576,1048576], %y: f32[1048576,1048576]) {
  %a = add %x, %y : f32[1048576,1048576]
  %b = exp %a : f32[1048576,1048576]
  %c = mul %b, %x : f32[1048576,1048576]
  return %c
}
)");
  auto cost = cost_of_all(graph, named("cpu.avx512"));
  constexpr int64_t elements = int64_t{1} << 40;
  EXPECT_EQ(cost.bytes_read, 8 * elements);
  EXPECT_EQ(cost.bytes_written, 4 * elements);
  EXPECT_EQ(cost.bytes_saved, 32 * elements - 12 * elements);
  EXPECT_NEAR(cost.fused_seconds, 12.0 * elements / 40e9, 1);
  EXPECT_GT(cost.unfused_seconds, cost.fused_seconds);
  EXPECT_EQ(peak_live_bytes(graph), 16 * elements);
}

TEST(Cost, SumsBeyondInt64AreTheLargestCount) {
  Graph graph;
  TensorType huge = {Dtype::f64, {int64_t{1} << 57}};
  std::vector<ValueId> inputs;
  for (int i = 0; i < 16; ++i)
    inputs.push_back(graph.add_input("x", huge));
  ValueId sum = inputs[0];
  for (int i = 1; i < 16; ++i)
    sum = graph.add(Op::add, {sum, inputs[i]});
  graph.outputs = {sum};
  auto cost = cost_of_all(graph, named("cpu.avx2"));
  EXPECT_EQ(cost.bytes_read, std::numeric_limits<int64_t>::max());
  EXPECT_GT(cost.fused_seconds, 1e6);
}

TEST(Cost, ReadsOnlyTheLinesASliceOrAGatherTouches) {
  auto rows = cost_of_text(R"(graph @rows(%x: f32[1000,1024]) {
  %part = slice %x start=[0, 0] stop=[10, 1024] strides=[1, 1] : f32[10,1024]
  %y = exp %part : f32[10,1024]
  return %y
}
)");
  EXPECT_EQ(rows.bytes_read, 10 * 1024 * 4);
  auto every_fourth = cost_of_text(R"(graph @strided(%x: f32[1024]) {
  %part = slice %x start=[0] stop=[1024] strides=[4] : f32[256]
  %y = exp %part : f32[256]
  return %y
}
)");
  EXPECT_EQ(every_fourth.bytes_read, 1024 * 4);
}

struct Known {
  const char* name;
  const char* target;
  const char* text;
  Bound bound;
};

TEST(Cost, ClassifiesKnownKernels) {
  const Known kernels[] = {
      {"residual",
       "cpu.avx512",
       R"(graph @f(%x: f32[4096,4096], %y: f32[4096,4096]) {
  %z = add %x, %y : f32[4096,4096]
  return %z
}
)",
       Bound::memory},
      {"row sum",
       "cpu.avx512",
       R"(graph @f(%x: f32[4096,4096]) {
  %z = sum %x axes=[1] : f32[4096]
  return %z
}
)",
       Bound::memory},
      {"layer norm", "cuda.h200", layer_norm, Bound::memory},
      {"chain of sines",
       "cpu.avx512",
       R"(graph @f(%x: f32[4096,4096]) {
  %a = sin %x : f32[4096,4096]
  %b = sin %a : f32[4096,4096]
  %c = power %b, %x : f32[4096,4096]
  return %c
}
)",
       Bound::compute},
      {"matmul",
       "cpu.avx512",
       R"(graph @f(%x: f32[1024,1024], %y: f32[1024,1024]) {
  %z = matmul %x, %y : f32[1024,1024]
  return %z
}
)",
       Bound::compute},
      {"matrix by vector",
       "cpu.avx512",
       R"(graph @f(%x: f32[8192,8192], %y: f32[8192,1]) {
  %z = matmul %x, %y : f32[8192,1]
  return %z
}
)",
       Bound::memory},
      {"small add",
       "cpu.avx512",
       R"(graph @f(%x: f32[32], %y: f32[32]) {
  %z = add %x, %y : f32[32]
  return %z
}
)",
       Bound::launch},
      {"sines on a device of more flops a byte",
       "cuda.h200",
       R"(graph @f(%x: f32[4096,4096]) {
  %z = sin %x : f32[4096,4096]
  return %z
}
)",
       Bound::memory},
  };
  for (const auto& kernel : kernels)
    EXPECT_EQ(name(cost_of_text(kernel.text, kernel.target).bound), name(kernel.bound)) << kernel.name;
}

const char* gemm_chain = R"(graph @f(%x: f32[4096,8192], %w: f32[8192,4096], %b: f32[4096]) {
  %z = matmul %x, %w : f32[4096,4096]
  %y = add %z, %b : f32[4096,4096]
  %r = abs %y : f32[4096,4096]
  return %r
}
)";

TEST(Cost, DeclinesAGemmThatItsEpilogueHardlyMoves) {
  Target target = named("cuda.h200");
  target.mlx.gemm_flops_per_second = target.flops_per_second * target.gemm_share;  // as good as ours
  auto cost = cost_of_all(parse(gemm_chain), target);
  EXPECT_EQ(cost.contraction_flops, 2.0 * 4096 * 4096 * 8192);
  EXPECT_LT(cost.unfused_seconds / cost.fused_seconds, 1.03);
  EXPECT_EQ(why_not_worth(cost, target), "bound by its matrix product, which fusing moves by under 3%");
}

TEST(Cost, AcceptsAGemmWhereMlxIsSlow) {
  auto target = named("cpu.avx512");
  EXPECT_EQ(why_not_worth(cost_of_all(parse(gemm_chain), target), target), "");
}

TEST(Cost, DeclinesWhatSavesNothing) {
  auto target = named("cuda.h200");
  auto cost = cost_of_text(
      R"(graph @f(%x: f32[64], %y: f32[64]) {
  %z = add %x, %y : f32[64]
  return %z
}
)",
      "cuda.h200");
  EXPECT_EQ(why_not_worth(cost, target), "predicted to gain too little over MLX");
}

// MLX copies, and writes what few updates there are; a kernel has every element look at each of them.
TEST(Cost, AScatterOfManyUpdatesIsMlxsWhereWorkIsDear) {
  auto scattered = [](int updates) {
    const std::string n = std::to_string(updates);
    return parse(
        "graph @s(%x: f32[1,128000], %i: i32[1," + n + "], %u: f32[1," + n +
        "]) {\n  %y = scatter_axis %x, %i, %u " + "axis=1 reduce=\"sum\" : f32[1,128000]\n  return %y\n}\n");
  };
  const Graph one = scattered(1), many = scattered(20);
  EXPECT_EQ(why_not_pulled(one, one.nodes[0], named("cpu.avx512")), "");
  EXPECT_EQ(
      why_not_pulled(many, many.nodes[0], named("cpu.avx512")),
      "has each of 128000 elements look at 20 updates, which takes longer than MLX's copy");
  EXPECT_EQ(why_not_pulled(many, many.nodes[0], named("cuda.h200")), "");
  const Target cpu = named("cpu.avx512");
  EXPECT_NEAR(
      mlx_seconds(many, many.nodes[0], false, cpu) - mlx_seconds(one, one.nodes[0], false, cpu),
      19 * 3e-9,
      1e-10);
  EXPECT_DOUBLE_EQ(cost_of_all(many, cpu).flops, 20 * cost_of_all(one, cpu).flops);
}

TEST(MlxCost, SlowScalarFunctionsDominateOnTheCpuOnly) {
  auto graph = parse(R"(graph @f(%x: f32[1024,1024]) {
  %a = tanh %x : f32[1024,1024]
  %b = neg %x : f32[1024,1024]
  return %a, %b
}
)");
  auto seconds = [&](int node, const char* target) {
    return mlx_seconds(graph, graph.nodes[node], false, named(target));
  };
  EXPECT_GT(seconds(0, "cpu.avx512"), 20 * seconds(1, "cpu.avx512"));
  EXPECT_NEAR(seconds(0, "cuda.h200"), seconds(1, "cuda.h200"), 1e-9);
}

TEST(MlxCost, FreshMemoryFaultsAndDonatedMemoryDoesNot) {
  auto graph = parse(R"(graph @f(%x: f32[4096,4096]) {
  %a = neg %x : f32[4096,4096]
  %b = abs %a : f32[4096,4096]
  return %b
}
)");
  Uses uses = find_uses(graph);
  EXPECT_FALSE(may_donate(graph, uses, 0));
  EXPECT_TRUE(may_donate(graph, uses, 1));
  auto target = named("cpu.avx512");
  double faults =
      mlx_seconds(graph, graph.nodes[0], true, target) - mlx_seconds(graph, graph.nodes[0], false, target);
  EXPECT_NEAR(faults, 4096.0 * 4096 * 4 * target.mlx.fault_seconds_per_byte, 1e-6);
}

TEST(Target, NamedOnesAreFixedAndComplete) {
  for (auto name : target_names()) {
    auto target = find_target(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(target->name, name);
    EXPECT_LE(target->copy_bytes_per_second, target->cache_bytes_per_second);
  }
  EXPECT_FALSE(find_target("cpu.other"));
  EXPECT_EQ(find_target("cpu.avx2")->flops_per_second, 128e9);
}

}  // namespace
}  // namespace autoperfect

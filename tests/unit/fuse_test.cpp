// Legality and growth of regions beyond what the goldens in tests/golden/fuse show as text.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>

#include "fuse/plan_text.h"
#include "ir/graph_text.h"
#include "lower/lower.h"

namespace autoperfect {
namespace {

Plan all_regions(const Graph& graph) {
  FuseOptions options;
  options.gate_by_cost = false;
  return fuse(graph, default_cpu_target(), options);
}

void expect_sound(const Graph& graph, const Plan& plan) {
  auto problems = verify(graph, plan);
  ASSERT_TRUE(problems.empty()) << format(problems) << "\n" << print(graph, plan);
  for (auto& region : plan.regions) {
    auto kernel = lower(graph, region);
    ASSERT_TRUE(kernel.ok()) << format(kernel.errors()) << "\n" << print(graph, plan);
  }
}

Graph random_graph(uint64_t seed, int size) {
  std::mt19937_64 random(seed);
  Graph graph;
  std::vector<ValueId> matrices{
      graph.add_input("x", {Dtype::f32, {16, 16}}), graph.add_input("y", {Dtype::f32, {16, 16}})};
  auto pick = [&] { return matrices[random() % matrices.size()]; };
  for (int i = 0; i < size; ++i) {
    ValueId made = -1;
    switch (random() % 8) {
      case 0:
        made = graph.add(Op::exp, {pick()});
        break;
      case 1:
        made = graph.add(Op::matmul, {pick(), pick()});
        break;
      case 2: {
        Attributes reduce;
        reduce.set("axes", std::vector<int64_t>{static_cast<int64_t>(random() % 2)});
        reduce.set("keepdims", true);
        made = graph.add(Op::mul, {graph.add(Op::sum, {pick()}, reduce), pick()});
        break;
      }
      case 3: {
        Attributes transpose;
        transpose.set("axes", std::vector<int64_t>{1, 0});
        made = graph.add(Op::transpose, {pick()}, transpose);
        break;
      }
      default:
        made = graph.add(Op::add, {pick(), pick()});
        break;
    }
    matrices.push_back(made);
  }
  graph.outputs = {matrices.back(), matrices[matrices.size() / 2]};
  return graph;
}

TEST(fuse, random_graphs_make_sound_plans) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Graph graph = random_graph(seed, 40);
    ASSERT_TRUE(verify(graph).empty());
    expect_sound(graph, all_regions(graph));
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(fuse, is_deterministic) {
  Graph graph = random_graph(99, 60);
  auto names = [&](const Plan& plan) {
    std::vector<std::vector<NodeId>> nodes;
    for (auto& region : plan.regions)
      nodes.push_back(region.nodes);
    return nodes;
  };
  EXPECT_EQ(names(all_regions(graph)), names(all_regions(graph)));
}

TEST(fuse, a_long_chain_is_cut_at_the_cap) {
  Graph graph;
  ValueId v = graph.add_input("x", {Dtype::f32, {8, 8}});
  for (int i = 0; i < 1000; ++i)
    v = graph.add(Op::neg, {v});
  graph.outputs = {v};
  Plan plan = all_regions(graph);
  size_t nodes = 0;
  for (auto& region : plan.regions) {
    EXPECT_LE(region.nodes.size(), 128u);
    nodes += region.nodes.size();
  }
  EXPECT_EQ(nodes, 1000u);
  EXPECT_EQ(plan.regions.size(), 8u);
}

TEST(fuse, too_many_buffers_are_not_one_kernel) {
  Graph graph;
  ValueId sum = graph.add_input("x0", {Dtype::f32, {64}});
  for (int i = 1; i < 60; ++i) {
    ValueId next = graph.add_input("x" + std::to_string(i), {Dtype::f32, {64}});
    sum = graph.add(Op::add, {sum, next});
  }
  graph.outputs = {sum};
  for (auto& region : all_regions(graph).regions)
    EXPECT_LE(region.inputs.size(), 24u);
}

TEST(fuse, small_work_is_declined_and_large_work_is_not) {
  for (int64_t n : {4, 4096}) {
    Graph graph;
    ValueId x = graph.add_input("x", {Dtype::f32, {n, n}});
    ValueId y = graph.add(Op::exp, {graph.add(Op::neg, {x})});
    graph.outputs = {y};
    Plan plan = fuse(graph, default_cpu_target());
    EXPECT_EQ(plan.regions.size(), n == 4 ? 0u : 1u);
    EXPECT_EQ(plan.declined.size(), n == 4 ? 1u : 0u);
  }
}

TEST(fuse, kinds) {
  auto kind_of = [](const std::string& body, const std::string& result) {
    auto graph = parse_graph(
        "autoperfect.graph 1\ngraph @g(%x: f32[32,16]) {\n" + body + "  return %" + result + "\n}\n");
    EXPECT_TRUE(graph.ok()) << format(graph.errors());
    return all_regions(*graph).regions.at(0).kind;
  };
  EXPECT_EQ(kind_of("  %y = exp %x : f32[32,16]\n", "y"), RegionKind::elementwise);
  EXPECT_EQ(kind_of("  %y = sum %x axes=[1] : f32[32]\n", "y"), RegionKind::row_reduction);
  EXPECT_EQ(kind_of("  %y = sum %x axes=[0] : f32[16]\n", "y"), RegionKind::column_reduction);
  EXPECT_EQ(kind_of("  %y = sum %x axes=[0,1] : f32[]\n", "y"), RegionKind::full_reduction);
  // Over everything and back to the elements: one thread, two sweeps.
  EXPECT_EQ(
      kind_of("  %s = max %x axes=[0,1] keepdims=true : f32[1,1]\n  %y = sub %x, %s : f32[32,16]\n", "y"),
      RegionKind::row_reduction);
}

}  // namespace
}  // namespace autoperfect

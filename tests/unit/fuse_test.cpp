// Legality and growth of regions beyond what the goldens in tests/golden/fuse show as text.
#include <gtest/gtest.h>

#include <functional>
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
    switch (random() % 9) {
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
      case 4: {  // a barrier of two results, of which one is read
        const TensorType matrix{Dtype::f32, {16, 16}};
        const NodeId factors = graph.add_node(Op::qr, {pick()}, {matrix, matrix});
        made = graph.nodes[factors].results[random() % 2];
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

// Transformer-like blocks: norms, matmuls, gates, residuals; every block adds 23 nodes.
Graph blocks(int nodes) {
  Graph graph;
  Attributes reduce;
  reduce.set("axes", std::vector<int64_t>{1});
  reduce.set("keepdims", true);
  ValueId x = graph.add_input("x", {Dtype::f32, {64, 128}});
  ValueId w = graph.add_input("w", {Dtype::f32, {128, 128}});
  ValueId g = graph.add_input("g", {Dtype::f32, {128}});
  while (static_cast<int>(graph.nodes.size()) < nodes) {
    ValueId scaled = graph.add(
        Op::mul,
        {graph.add(Op::sum, {graph.add(Op::square, {x})}, reduce),
         graph.add_constant(1.0 / 128, Dtype::f32)});
    ValueId normal = graph.add(Op::mul, {graph.add(Op::mul, {x, graph.add(Op::rsqrt, {scaled})}), g});
    ValueId gate = graph.add(Op::matmul, {normal, w});
    ValueId up = graph.add(Op::matmul, {normal, w});
    ValueId act = graph.add(Op::mul, {graph.add(Op::mul, {gate, graph.add(Op::sigmoid, {gate})}), up});
    ValueId peak = graph.add(Op::max, {act}, reduce);
    ValueId e = graph.add(Op::exp, {graph.add(Op::sub, {act, peak})});
    ValueId p = graph.add(Op::div, {e, graph.add(Op::sum, {e}, reduce)});
    for (int k = 0; k < 4; ++k)
      p = graph.add(Op::add, {graph.add(Op::neg, {p}), x});
    x = graph.add(Op::add, {x, graph.add(Op::matmul, {p, w})});
  }
  graph.outputs = {x};
  return graph;
}

Graph wide_join(int inputs) {
  Graph graph;
  std::vector<ValueId> parts;
  for (int k = 0; k < inputs; ++k) {
    ValueId x = graph.add_input("x" + std::to_string(k), {Dtype::f32, {64}});
    parts.push_back(graph.add(Op::exp, {graph.add(Op::neg, {x})}));
  }
  Attributes along;
  along.set("axis", int64_t{0});
  graph.outputs = {graph.add(Op::concatenate, parts, along)};
  return graph;
}

Graph fan_out(int readers) {
  Graph graph;
  ValueId x = graph.add(Op::tanh, {graph.add_input("x", {Dtype::f32, {64, 64}})});
  for (int k = 0; k < readers; ++k) {
    Attributes reduce;
    reduce.set("axes", std::vector<int64_t>{k % 2});
    graph.outputs.push_back(graph.add(Op::sum, {graph.add(Op::square, {x})}, reduce));
  }
  return graph;
}

// How long that takes is for `./dev bench compile-time`.
TEST(fuse, ten_thousand_ops_have_a_sound_plan) {
  for (auto& [what, make] : std::vector<std::pair<const char*, std::function<Graph(int)>>>{
           {"blocks", blocks},
           {"chain",
            [](int n) {
              Graph graph;
              ValueId v = graph.add_input("x", {Dtype::f32, {8, 8}});
              for (int i = 0; i < n; ++i)
                v = graph.add(Op::neg, {v});
              graph.outputs = {v};
              return graph;
            }},
           {"wide join", [](int n) { return wide_join(n / 2); }},
           {"fan-out", [](int n) { return fan_out(n / 2); }}}) {
    Graph graph = make(10000);
    Plan plan = fuse(graph, default_cpu_target(), {.gate_by_cost = false});
    auto errors = verify(graph, plan);
    EXPECT_TRUE(errors.empty()) << what << ": " << format(errors);
    EXPECT_FALSE(plan.regions.empty()) << what;
  }
}

Graph parsed(const std::string& text) {
  auto graph = parse_graph("autoperfect.graph 1\n" + text);
  EXPECT_TRUE(graph.ok()) << format(graph.errors());
  return *graph;
}

// Five parameters of one shape, one of another: two kernels, however many steps each takes.
TEST(fuse, independent_work_of_one_shape_shares_a_kernel) {
  Graph graph;
  for (int k = 0; k < 6; ++k) {
    TensorType type{Dtype::f32, {k == 5 ? 8 : 16, 16}};
    ValueId p = graph.add_input("p" + std::to_string(k), type),
            g = graph.add_input("g" + std::to_string(k), type);
    ValueId step = graph.add(Op::mul, {g, graph.add_constant(0.5, Dtype::f32)});
    graph.outputs.push_back(graph.add(Op::sub, {p, graph.add(Op::tanh, {step})}));
  }
  Plan plan = all_regions(graph);
  ASSERT_EQ(plan.regions.size(), 2u);
  EXPECT_EQ(plan.regions[0].outputs.size() + plan.regions[1].outputs.size(), 6u);
  expect_sound(graph, plan);
  // Large tensors gain nothing by sharing a launch.
  for (auto& value : graph.values)
    if (!value.type.shape.empty()) value.type.shape = {4096, 4096};
  EXPECT_EQ(all_regions(graph).regions.size(), 6u);
}

// What is dear to make, or smaller than what it is made from, stays in memory.
TEST(fuse, only_cheap_values_are_computed_again) {
  auto regions_with = [&](const char* op, const char* from) {
    Graph graph = parsed(
        "graph @g(%x: f32[" + std::string(from) + "]) {\n  %e = " + op + " %x : f32[64,64]\n" +
        "  %r = sum %e axes=[1] : f32[64]\n  %c = sum %e axes=[0] : f32[64]\n  return %r, %c\n}\n");
    Plan plan = all_regions(graph);
    expect_sound(graph, plan);
    return plan;
  };
  Plan cheap = regions_with("neg", "64,64");
  ASSERT_EQ(cheap.regions.size(), 2u);
  EXPECT_EQ(cheap.regions[1].recomputed.size(), 1u);
  Plan dear = regions_with("exp", "64,64");
  ASSERT_EQ(dear.regions.size(), 2u);
  EXPECT_TRUE(dear.regions[1].recomputed.empty());
  EXPECT_EQ(dear.regions[0].outputs.size(), 2u);
}

TEST(fuse, a_kernel_that_cannot_be_generated_leaves_the_rest) {
  Graph graph = parsed(
      "graph @g(%x: f32[8,32], %w: f32[32,16]) {\n  %a = neg %x : f32[8,32]\n"
      "  %m = matmul %a, %w : f32[8,16]\n  %b = tanh %m : f32[8,16]\n  return %b\n}\n");
  EXPECT_EQ(all_regions(graph).regions.size(), 1u);
  FuseOptions options;
  options.gate_by_cost = false;
  options.can_generate = [](const Graph&, const Region& region) {
    return region.kind != RegionKind::contraction;
  };
  Plan plan = fuse(graph, default_cpu_target(), options);
  ASSERT_EQ(plan.regions.size(), 2u);
  EXPECT_EQ(plan.regions[0].kind, RegionKind::elementwise);
  expect_sound(graph, plan);
  ASSERT_EQ(plan.stops.size(), 2u);
  EXPECT_EQ(plan.stops[0].reason, "no kernel can be generated for it");
}

TEST(fuse, verify_finds_what_is_wrong_with_a_plan) {
  Graph graph = parsed(
      "graph @g(%x: f32[8]) {\n  %a = neg %x : f32[8]\n  %b = exp %a : f32[8]\n  %s = sort %b axis=0 : "
      "f32[8]\n"
      "  %c = add %s, %a : f32[8]\n  return %c\n}\n");
  auto region = [](std::vector<NodeId> nodes, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
    Region made;
    made.nodes = std::move(nodes), made.inputs = std::move(inputs), made.outputs = std::move(outputs);
    return made;
  };
  auto code_of = [&](std::vector<Region> regions) {
    Plan plan;
    plan.regions = std::move(regions);
    auto problems = verify(graph, plan);
    return problems.empty() ? std::string("sound") : problems[0].code;
  };
  // Values: x 0, a 1, b 2, s 3, c 4; nodes: a 0, b 1, s 2, c 3.
  EXPECT_EQ(code_of({region({0, 1}, {0}, {1, 2}), region({3}, {3, 1}, {4})}), "sound");
  EXPECT_EQ(code_of({region({0, 1}, {0}, {2})}), "not-handed-out");
  EXPECT_EQ(code_of({region({0, 1, 3}, {0, 3}, {2, 4})}), "circle");
  EXPECT_EQ(code_of({region({3}, {3, 1}, {4}), region({0, 1}, {0}, {1, 2})}), "order");
  EXPECT_EQ(code_of({region({0, 1}, {0}, {1, 2}), region({1}, {1}, {2})}), "in-two-regions");
  EXPECT_EQ(code_of({region({0, 1}, {}, {1, 2})}), "not-an-input");
  EXPECT_EQ(code_of({region({0, 1}, {0, 3}, {1, 2})}), "not-read");
  EXPECT_EQ(code_of({region({}, {}, {})}), "bad-nodes");
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

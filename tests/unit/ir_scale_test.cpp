// Everything under ir/ is linear in the size of a graph and free of recursion on its depth. Linear is judged
// by counting, not by a clock: a quadratic step over 100,000 ops would take minutes.
#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ir/graph_text.h"

namespace autoperfect {
namespace {

constexpr int many = 100'000;

// All values wish for one name.
Graph long_chain(int ops) {
  Graph graph;
  ValueId x = graph.add_input("x", {Dtype::f32, {4}});
  for (int i = 0; i < ops; ++i)
    x = graph.add(i % 2 ? Op::tanh : Op::neg, {x}, {}, "y");
  graph.outputs = {x};
  return graph;
}

TEST(GraphScale, NamesOfALongChainAreUniqueAndInOrder) {
  auto graph = long_chain(many);
  ASSERT_EQ(graph.values.size(), size_t{many} + 1);
  EXPECT_EQ(graph.values[1].name, "y");
  EXPECT_EQ(graph.values[2].name, "y_1");
  EXPECT_EQ(graph.values[many].name, "y_" + std::to_string(many - 1));
  EXPECT_TRUE(verify(graph).empty());
}

TEST(GraphScale, TextOfALongChainRoundTrips) {
  auto graph = long_chain(many);
  auto text = print(graph);
  auto parsed = parse_graph(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(print(*parsed), text);
  auto uses = find_uses(*parsed);
  EXPECT_EQ(uses.readers[parsed->values.size() - 2], (std::vector<NodeId>{many - 1}));
  EXPECT_TRUE(uses.readers.back().empty());
}

TEST(NameTable, FollowsValuesAppendedDirectly) {
  Graph graph;
  auto x = graph.add_input("x", {Dtype::f32, {4}});
  graph.add(Op::exp, {x}, {}, "y");
  graph.values.push_back({"y_7", {Dtype::f32, {4}}, -1, 0, {}});
  graph.inputs.push_back({2, ""});
  auto z = graph.add(Op::exp, {x}, {}, "y");
  EXPECT_EQ(graph.values[z].name, "y_8");
}

TEST(NameTable, OfACopyIsItsOwn) {
  Graph graph;
  auto x = graph.add_input("x", {Dtype::f32, {4}});
  graph.add(Op::exp, {x}, {}, "y");
  Graph copy = graph;
  EXPECT_EQ(copy.values[copy.add(Op::exp, {x}, {}, "y")].name, "y_1");
  EXPECT_EQ(graph.values[graph.add(Op::exp, {x}, {}, "y")].name, "y_1");
  copy = graph;
  EXPECT_EQ(copy.values[copy.add(Op::exp, {x}, {}, "y")].name, "y_2");
}

}  // namespace
}  // namespace autoperfect

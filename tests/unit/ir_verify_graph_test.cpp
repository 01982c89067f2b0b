// Each invariant of verify_graph.cpp, broken on purpose.
#include <gtest/gtest.h>

#include "ir/graph_text.h"

namespace autoperfect {
namespace {

Graph good_graph() {
  Graph graph;
  auto x = graph.add_input("x", {Dtype::f32, {4}});
  auto a = graph.add(Op::exp, {x}, {}, "a");
  auto b = graph.add(Op::add, {a, x}, {}, "b");
  graph.outputs = {b};
  return graph;
}

std::vector<std::string> codes(const Graph& graph) {
  std::vector<std::string> found;
  for (const auto& diagnostic : verify(graph))
    found.push_back(diagnostic.code);
  return found;
}

using Codes = std::vector<std::string>;

TEST(VerifyGraph, AcceptsAGoodGraph) {
  EXPECT_EQ(codes(good_graph()), Codes{});
}

TEST(VerifyGraph, IdsAreInRange) {
  auto graph = good_graph();
  graph.nodes[1].operands[0] = 99;
  graph.outputs.push_back(-1);
  graph.inputs.push_back({77, ""});
  EXPECT_EQ(codes(graph), (Codes{"no-such-value", "no-such-value", "no-such-value"}));
  graph = good_graph();
  graph.nodes[1].results[0] = 99;
  EXPECT_EQ(codes(graph), (Codes{"no-such-value", "definition-count"}));
}

TEST(VerifyGraph, EveryValueIsDefinedOnce) {
  auto graph = good_graph();
  graph.values.push_back({"lost", {Dtype::f32, {4}}, 1, 0, {}});
  EXPECT_EQ(codes(graph), Codes{"definition-count"});
  graph = good_graph();
  graph.inputs.push_back(graph.inputs[0]);
  EXPECT_EQ(codes(graph), Codes{"definition-count"});
  graph = good_graph();
  graph.inputs.push_back({graph.nodes[0].results[0], ""});
  EXPECT_EQ(codes(graph), (Codes{"wrong-producer", "definition-count"}));
}

TEST(VerifyGraph, ValuesNameTheirProducer) {
  auto graph = good_graph();
  graph.values[1].producer = 1;
  EXPECT_EQ(codes(graph), (Codes{"wrong-producer", "use-before-definition"}));
  graph = good_graph();
  graph.values[2].result = 1;
  EXPECT_EQ(codes(graph), Codes{"wrong-producer"});
}

TEST(VerifyGraph, NodesAreInTopologicalOrder) {
  auto graph = good_graph();
  graph.nodes[0].operands[0] = 2;
  EXPECT_EQ(codes(graph), Codes{"use-before-definition"});
}

TEST(VerifyGraph, NamesAreUniqueAndPlain) {
  auto graph = good_graph();
  graph.values[1].name = "x";
  graph.values[2].name = "a b";
  graph.name = "";
  EXPECT_EQ(codes(graph), (Codes{"bad-name", "duplicate-name", "bad-name"}));
}

TEST(VerifyGraph, ShapesArePossible) {
  auto graph = good_graph();
  graph.values[0].type.shape = {-4};
  EXPECT_EQ(codes(graph), Codes{"shape-too-large"});
  graph.values[0].type.shape = Shape(40, 1);
  EXPECT_EQ(codes(graph), Codes{"shape-too-large"});
}

TEST(VerifyGraph, DeclaredTypesAreTheInferredOnes) {
  auto graph = good_graph();
  graph.values[2].type.dtype = Dtype::f16;
  EXPECT_EQ(codes(graph), Codes{"type-mismatch"});
  graph = good_graph();
  graph.nodes[0].op = Op::logical_not;
  EXPECT_EQ(codes(graph), Codes{"dtype-not-allowed"});
}

TEST(VerifyGraph, NodesHaveWhatTheirOpTakes) {
  auto graph = good_graph();
  graph.nodes[1].operands.pop_back();
  graph.nodes[0].attributes.set("axes", int64_t{1});
  EXPECT_EQ(codes(graph), (Codes{"unknown-attribute", "arity"}));
  graph = good_graph();
  graph.nodes[1].op = Op::opaque;
  EXPECT_EQ(codes(graph), (Codes{"missing-attribute", "missing-attribute"}));
  graph = good_graph();
  graph.nodes[1].results.push_back(3);
  graph.values.push_back({"c", {Dtype::f32, {4}}, 1, 1, {}});
  EXPECT_EQ(codes(graph), Codes{"result-count"});
}

}  // namespace
}  // namespace autoperfect

// Each invariant of verify_graph.cpp, broken on purpose.
#include <gtest/gtest.h>

#include <functional>

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

// Nodes: 0 %total = sum axes=[1] keepdims=true, 1 %centered = sub, 2 %turned = transpose, 3 %left and %right
// = split, 4 %one = const, 5 %made = opaque.
Graph many_ops() {
  auto graph = parse_graph(
      "autoperfect.graph 1\ngraph @f(%x: f32[4,8]) {\n  %total = sum %x axes=[1] keepdims=true : f32[4,1]\n"
      "  %centered = sub %x, %total : f32[4,8]\n  %turned = transpose %centered axes=[1,0] : f32[8,4]\n"
      "  %left, %right = split %turned axis=0 indices=[3] : f32[3,4], f32[5,4]\n  %one = const 1.0 : f32[]\n"
      "  %made = opaque %left, %one key=7 primitive=\"Made\" : u8[2,2]\n  return %right, %made\n}\n");
  EXPECT_TRUE(graph.ok()) << format(graph.errors());
  return *graph;
}

// "code: message" of each violation.
std::vector<std::string> after(const std::function<void(Graph&)>& change) {
  auto graph = many_ops();
  change(graph);
  std::vector<std::string> found;
  for (const auto& diagnostic : verify(graph))
    found.push_back(diagnostic.code + ": " + diagnostic.message);
  return found;
}

Node& node(Graph& graph, int n) {
  return graph.nodes[n];
}
using Ints = std::vector<int64_t>;

TEST(VerifyGraphMutations, NothingBrokenNothingFound) {
  EXPECT_EQ(after([](Graph&) {}), Codes{});
}

TEST(VerifyGraphMutations, SizesInBytesFit) {
  auto set_shape = [](Shape shape) { return after([&](Graph& g) { g.values[0].type.shape = shape; }); };
  EXPECT_EQ(
      set_shape({INT64_MAX}), Codes{"shape-too-large: %x has the impossible shape [9223372036854775807]"});
  EXPECT_EQ(
      set_shape({int64_t{1} << 29, int64_t{1} << 29}),
      Codes{"shape-too-large: %x has the impossible shape [536870912,536870912]"});
}

TEST(VerifyGraphMutations, AttributesAreThoseOfTheOp) {
  EXPECT_EQ(
      after([](Graph& g) { node(g, 0).attributes.set("axes", int64_t{1}); }),
      Codes{"attribute-type: attribute 'axes' of 'sum' is not a list of integers, such as [0, 1]"});
  EXPECT_EQ(
      after([](Graph& g) { node(g, 0).attributes = {}; }),
      Codes{"missing-attribute: 'sum' lacks its attribute 'axes'"});
  EXPECT_EQ(
      after([](Graph& g) { node(g, 1).attributes.set("fast", true); }),
      Codes{"unknown-attribute: 'sub' has no attribute 'fast'"});
  EXPECT_EQ(
      after([](Graph& g) { node(g, 5).attributes = {}; }),
      (Codes{
          "missing-attribute: 'opaque' lacks its attribute 'key'",
          "missing-attribute: 'opaque' lacks its attribute 'primitive'"}));
}

TEST(VerifyGraphMutations, AxesExistAndAscend) {
  auto sum_over = [](Ints axes) {
    return after([&](Graph& g) { node(g, 0).attributes.set("axes", axes); })[0];
  };
  EXPECT_EQ(sum_over({1, 0}).substr(0, 11), "axes-order:");
  EXPECT_EQ(sum_over({1, 1}).substr(0, 11), "axes-order:");
  EXPECT_EQ(sum_over({2}).substr(0, 11), "axis-range:");
  EXPECT_EQ(sum_over({-1}).substr(0, 11), "axis-range:");
  auto turned = after([](Graph& g) { node(g, 2).attributes.set("axes", Ints{0, 0}); });
  EXPECT_EQ(turned[0].substr(0, 17), "axes-permutation:");
}

TEST(VerifyGraphMutations, OperandsAgree) {
  EXPECT_EQ(
      after([](Graph& g) { node(g, 1).operands.pop_back(); }), Codes{"arity: 'sub' takes 2 operands, not 1"});
  EXPECT_EQ(
      after([](Graph& g) { std::swap(node(g, 1).operands[1], node(g, 5).operands[0]); })[0],
      "use-before-definition: %left is used before it is defined");
  EXPECT_EQ(
      after([](Graph& g) { g.values[1].type.dtype = Dtype::f16; }),
      (Codes{
          "type-mismatch: %total is declared f16[4,1], but 'sum' gives f32[4,1]",
          "dtype-mismatch: operands of 'sub' have different dtypes, f32 and f16"}));
  EXPECT_EQ(after([](Graph& g) { g.values[1].type.shape = {3, 1}; }).back().substr(0, 15), "shape-mismatch:");
}

TEST(VerifyGraphMutations, ResultsAreTheInferredOnes) {
  EXPECT_EQ(
      after([](Graph& g) {
        g.values[3].type.shape = {4, 8};
      })[0],
      "type-mismatch: %turned is declared f32[4,8], but 'transpose' gives f32[8,4]");
  EXPECT_EQ(
      after([](Graph& g) {
        node(g, 3).attributes.set("indices", Ints{3, 4});
      }),
      (Codes{
          "result-count: 'split' has 3 results, not 2",
          "type-mismatch: %right is declared f32[5,4], but 'split' gives f32[1,4]"}));
  EXPECT_EQ(
      after([](Graph& g) { node(g, 4).attributes.set("value", true); })[0].substr(0, 15), "constant-dtype:");
}

// What only MLX can infer is as stated, whatever it is made from.
TEST(VerifyGraphMutations, ResultsOfOpaqueOpsAreAsStated) {
  EXPECT_EQ(
      after([](Graph& g) {
        g.values.back().type = {Dtype::c64, {9}};
        node(g, 5).operands.clear();
        node(g, 5).attributes.set("anything", 0.5);
      }),
      Codes{});
}

TEST(VerifyGraphMutations, EveryViolationIsFound) {
  EXPECT_EQ(
      after([](Graph& g) {
        g.name = "a b";
        g.values[2].name = "total";
        node(g, 0).operands[0] = 50;
        node(g, 2).op = Op::exp;
        node(g, 3).results[1] = -3;
        g.outputs[1] = 99;
      }),
      (Codes{
          "bad-name: the graph's name is not an identifier",
          "duplicate-name: %total is defined twice",
          "no-such-value: operand 50 is not a value",
          "unknown-attribute: 'exp' has no attribute 'axes'",
          "no-such-value: result -3 is not a value",
          "definition-count: %right is neither an input nor a result",
          "no-such-value: output 99 is not a value"}));
}

}  // namespace
}  // namespace autoperfect

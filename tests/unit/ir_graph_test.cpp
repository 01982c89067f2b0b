#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ir/graph_text.h"
#include "ir/identifier.h"

namespace autoperfect {
namespace {

TEST(Attributes, StaySortedAndTyped) {
  Attributes attributes;
  attributes.set("b", int64_t{1});
  attributes.set("a", true);
  attributes.set("b", 2.0);
  ASSERT_EQ(std::distance(attributes.begin(), attributes.end()), 2);
  EXPECT_EQ(attributes.begin()->first, "a");
  EXPECT_EQ(attributes.get<double>("b"), 2.0);
  EXPECT_EQ(attributes.get_or<int64_t>("b", 7), 7);
  EXPECT_THROW((void)attributes.get<int64_t>("b"), InternalError);
  EXPECT_THROW((void)attributes.get<bool>("c"), InternalError);
  attributes.erase("a");
  EXPECT_FALSE(attributes.has("a"));
}

TEST(Op, LooksUpEveryName) {
  for (auto text : all_op_names()) {
    auto op = parse_op(text);
    ASSERT_TRUE(op) << text;
    EXPECT_EQ(name(*op), text);
  }
  EXPECT_FALSE(parse_op("nothing"));
  EXPECT_EQ(class_of(Op::matmul), OpClass::gemm);
  EXPECT_EQ(arity(Op::concatenate), -1);
  EXPECT_TRUE(is_commutative(Op::add));
  EXPECT_FALSE(is_commutative(Op::maximum));
}

TEST(Dtype, NamesAndSizes) {
  EXPECT_EQ(parse_dtype("bf16"), Dtype::bf16);
  EXPECT_EQ(name(Dtype::bool_), "bool");
  EXPECT_EQ(size_of(Dtype::c64), 8);
  EXPECT_FALSE(parse_dtype("float32"));
}

TEST(Graph, MakesNamesUnique) {
  Graph graph;
  auto x = graph.add_input("x", {Dtype::f32, {4}});
  auto a = graph.add(Op::exp, {x}, {}, "x");
  auto b = graph.add(Op::exp, {a}, {}, "x");
  auto c = graph.add(Op::exp, {b});
  auto d = graph.add(Op::exp, {c}, {}, "not a name!");
  auto e = graph.add(Op::exp, {d}, {}, "12");
  auto f = graph.add(Op::exp, {e}, {}, "12");
  std::vector<std::string> names;
  for (auto v : {x, a, b, c, d, e, f})
    names.push_back(graph.values[v].name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "x_1", "x_2", "t3", "not_a_name_", "12", "t12"}));
  graph.outputs = {f};
  EXPECT_TRUE(verify(graph).empty());
}

TEST(Graph, AddInfersTypes) {
  Graph graph;
  auto x = graph.add_input("x", {Dtype::f32, {4, 8}});
  auto half = graph.add_constant(0.5, Dtype::f32, "half");
  auto y = graph.add(Op::mul, {x, half}, {}, "y");
  EXPECT_EQ(graph.type(y), (TensorType{Dtype::f32, {4, 8}}));
  EXPECT_EQ(graph.producer(y)->op, Op::mul);
  EXPECT_EQ(graph.producer(x), nullptr);
  EXPECT_THROW(graph.add(Op::logical_not, {x}), InternalError);
  EXPECT_EQ(graph.type(graph.add_constant(3, Dtype::i32)).dtype, Dtype::i32);
  EXPECT_EQ(graph.type(graph.add_constant(1, Dtype::bool_)).dtype, Dtype::bool_);
  EXPECT_EQ(graph.type(graph.add_constant(1, Dtype::c64)).dtype, Dtype::c64);
  EXPECT_TRUE(verify(graph).empty());
}

TEST(Graph, FindsUses) {
  auto graph = parse_graph(
      "autoperfect.graph 1\ngraph @f(%x: f32[4]) {\n  %a = mul %x, %x : f32[4]\n  %b = add %a, %x : f32[4]\n"
      "  return %b, %a\n}\n");
  ASSERT_TRUE(graph.ok());
  auto uses = find_uses(*graph);
  EXPECT_EQ(uses.readers[0], (std::vector<NodeId>{0, 1}));  // one entry a node
  EXPECT_EQ(uses.readers[1], (std::vector<NodeId>{1}));
  EXPECT_EQ(uses.readers[2], (std::vector<NodeId>{}));
  EXPECT_EQ(uses.is_output, (std::vector<bool>{false, true, true}));
}

TEST(Identifier, KeepsNamesSafe) {
  EXPECT_EQ(to_identifier("a b\n\"c"), "a_b__c");
  EXPECT_EQ(to_identifier("1x"), "_1x");
  EXPECT_EQ(to_identifier(""), "_");
  EXPECT_EQ(to_identifier(std::string(1000, 'a')).size(), 64u);
  EXPECT_TRUE(is_value_name("12"));
  EXPECT_FALSE(is_value_name("1x"));
  EXPECT_FALSE(is_identifier("12"));
}

}  // namespace
}  // namespace autoperfect

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "ir/graph_text.h"
#include "ir/text_lexer.h"

namespace autoperfect {
namespace {

std::string wrap(const std::string& body) {
  return "autoperfect.graph 1\ngraph @f(%x: f32[4], %n: i32[4]) {\n" + body + "}\n";
}

TEST(GraphText, RoundTripsEveryDouble) {
  Graph graph;
  for (double value :
       {0.0, -0.0, 1.0, 0.1, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, HUGE_VAL, -HUGE_VAL}) {
    graph.outputs.push_back(graph.add_constant(value, Dtype::f64));
  }
  auto parsed = parse_graph(print(graph));
  ASSERT_TRUE(parsed.ok()) << format(parsed.errors());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    auto before = graph.nodes[i].attributes.get<double>("value");
    auto after = parsed->nodes[i].attributes.get<double>("value");
    EXPECT_EQ(before, after);
    EXPECT_EQ(std::signbit(before), std::signbit(after));
    EXPECT_EQ(graph.nodes[i].attributes, parsed->nodes[i].attributes);
  }
}

TEST(GraphText, KeepsEveryPart) {
  Graph graph;
  graph.name = "whole";
  auto x = graph.add_input("x", {Dtype::f32, {4, 0}});
  auto w = graph.add_input("w", {Dtype::bool_, {}}, "00\"\\\n\x01");
  Attributes attributes;
  attributes.set("primitive", std::string("Odd \"name\" \\ \t\xc3\xbc\x7f"));
  attributes.set("key", int64_t{-9});
  attributes.set("numbers", std::vector<double>{1.0, -HUGE_VAL});
  attributes.set("dtype", Dtype::bf16);
  attributes.set("flag", false);
  auto node = graph.add_node(Op::opaque, {x, w, x}, {{Dtype::f32, {4}}, {Dtype::c64, {}}}, attributes, "q");
  graph.outputs = {graph.nodes[node].results[1], x, x};
  auto text = print(graph);
  auto parsed = parse_graph(text);
  ASSERT_TRUE(parsed.ok()) << format(parsed.errors(), text);
  EXPECT_EQ(print(*parsed), text);
  EXPECT_EQ(parsed->name, "whole");
  EXPECT_EQ(parsed->inputs[1].captured_hash, graph.inputs[1].captured_hash);
  EXPECT_EQ(parsed->nodes[0].attributes, attributes);
  EXPECT_EQ(parsed->nodes[0].operands, graph.nodes[0].operands);
  EXPECT_EQ(parsed->outputs, graph.outputs);
  EXPECT_EQ(parsed->values[2].name, "q");
  EXPECT_EQ(parsed->values[3].name, "q_1");
}

TEST(GraphText, CanonicalFormForgetsNames) {
  auto first = parse_graph(wrap("  %a = exp %x : f32[4]\n  return %a\n"));
  auto second = parse_graph(
      "; other names\nautoperfect.graph 1\ngraph @g(%p: f32[4], %q: i32[4]) {\n  %x = exp %p : f32[4]\n  "
      "return %x\n}");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(print(*first, Names::canonical), print(*second, Names::canonical));
  EXPECT_NE(print(*first), print(*second));
}

TEST(GraphText, FillsInWhatTheTypeSays) {
  auto graph =
      parse_graph(wrap("  %b = broadcast %x : f32[2,4]\n  %c = cast %b : f16[2,4]\n  %k = const 2 : f32[]\n"
                       "  %i = arange start=0.0 step=1.0 : i32[3]\n  return %c\n"));
  ASSERT_TRUE(graph.ok()) << format(graph.errors());
  EXPECT_EQ(graph->nodes[0].attributes.get<Shape>("shape"), (Shape{2, 4}));
  EXPECT_EQ(graph->nodes[1].attributes.get<Dtype>("dtype"), Dtype::f16);
  EXPECT_EQ(graph->nodes[2].attributes.get<double>("value"), 2.0);
  EXPECT_EQ(graph->nodes[2].attributes.get<Shape>("shape"), Shape{});
  EXPECT_EQ(graph->nodes[3].attributes.get<int64_t>("size"), 3);
}

struct Expected {
  std::string code;
  int line, column;
};

void expect_errors(const std::string& text, const std::vector<Expected>& expected) {
  auto graph = parse_graph(text);
  ASSERT_FALSE(graph.ok());
  std::vector<std::string> wanted, found;
  for (const auto& e : expected)
    wanted.push_back(fmt::format("{}:{} {}", e.line, e.column, e.code));
  for (const auto& d : graph.errors())
    found.push_back(fmt::format("{}:{} {}", d.where.line, d.where.column, d.code));
  EXPECT_EQ(found, wanted) << format(graph.errors(), text);
}

TEST(GraphText, ReportsAllErrorsAtOnce) {
  expect_errors(
      wrap("  %a = exx %x : f32[4]\n"  // 3
           "  %b = exp %a : f32[4]\n"  // follows from line 3: not reported
           "  %c = exp %y : f32[4]\n"  // 5
           "  %d = exp %n : i32[4]\n"  // 6: a type error between syntax errors
           "  %e = exp %x : f32[\n"    // 7
           "  return %x, %z\n"),       // 8
      {{"unknown-op", 3, 8},
       {"undefined-value", 5, 12},
       {"dtype-not-allowed", 6, 8},
       {"unexpected-token", 7, 21},
       {"undefined-value", 8, 14}});
}

TEST(GraphText, SuggestsTheNearestName) {
  auto graph = parse_graph(wrap("  %total = exx %x : f32[4]\n  %a = exp %totl : f32[4]\n  return %x\n"));
  ASSERT_EQ(graph.errors().size(), 2u);
  EXPECT_EQ(graph.errors()[0].hint, "did you mean 'exp'?");
}

TEST(GraphText, RefusesWhatIsNoGraph) {
  expect_errors("", {{"bad-header", 1, 1}});
  expect_errors("hello", {{"bad-header", 1, 1}});
  expect_errors("autoperfect.kernel 1\n", {{"bad-header", 1, 1}});
  expect_errors("autoperfect.graph 2\n", {{"unknown-version", 1, 19}});
  expect_errors("autoperfect.graph 1\ngraph @f(", {{"unexpected-token", 2, 10}});
  expect_errors(wrap(""), {{"unexpected-token", 3, 1}});
  expect_errors(wrap("  return\n") + "x", {{"unexpected-token", 5, 1}});
  expect_errors(wrap("  return %x\n  return %x\n"), {{"unexpected-token", 4, 3}});
}

TEST(GraphText, LimitsHowManyErrorsItKeeps) {
  std::string body;
  for (int i = 0; i < 5000; ++i)
    body += "  %a = nonsense\n";
  auto graph = parse_graph(wrap(body + "  return\n"));
  EXPECT_EQ(graph.errors().size(), 1000u);
}

TEST(GraphText, ParsesTenMegabytesQuickly) {
  std::string body;
  std::string last = "x";
  for (int i = 0; body.size() < 10'000'000; ++i) {
    auto name = fmt::format("value_number_{}", i);
    body += fmt::format("  %{} = add %{}, %x : f32[4]\n", name, last);
    last = name;
  }
  auto text = wrap(body + "  return %" + last + "\n");
  auto begin = std::chrono::steady_clock::now();
  auto graph = parse_graph(text);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(print(*graph), text);
  EXPECT_LT(seconds.count(), 10)
      << "linear parsing takes under a second";  // room for sanitizers and busy machines
  RecordProperty("seconds", std::to_string(seconds.count()));
}

TEST(TextLexer, QuotesRoundTrip) {
  std::string all;
  for (int c = 0; c < 256; ++c)
    all += static_cast<char>(c);
  auto quoted = quote(all);
  EXPECT_EQ(unquote(std::string_view(quoted).substr(1, quoted.size() - 2)), all);
  EXPECT_EQ(quoted.find('\n'), std::string::npos);
  for (auto* text : {"\\", "\\q", "\\x", "\\x1", "\\xg1", "\\x1g"})
    EXPECT_FALSE(unquote(text)) << text;
}

TEST(TextLexer, ReadsIntegers) {
  EXPECT_EQ(to_int64("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(to_int64("9223372036854775807"), INT64_MAX);
  for (auto* text : {"", "-", "9223372036854775808", "1.0", "1e3", " 1"})
    EXPECT_FALSE(to_int64(text)) << text;
}

}  // namespace
}  // namespace autoperfect

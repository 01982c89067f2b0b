// Where values of the source are found after canonicalize().
#include <gtest/gtest.h>

#include "canonicalize/canonicalize.h"
#include "ir/graph_text.h"

namespace autoperfect {
namespace {

struct Case {
  Graph source;
  Canonical canonical;

  explicit Case(const std::string& body)
      : source(parse_graph("autoperfect.graph 1\ngraph @g(%x: f32[4,8], %b: f32[8]) {\n" + body + "}\n")
                   .value()),
        canonical(canonicalize(source)) {}

  // The name in the canonical graph of what the source calls `name`; empty when it is gone.
  std::string name_of(const std::string& name) const {
    for (size_t v = 0; v < source.values.size(); ++v) {
      if (source.values[v].name != name) continue;
      const ValueId to = canonical.value_of_source[v];
      if (to >= 0) EXPECT_EQ(source.values[v].type, canonical.graph.values[to].type);
      return to < 0 ? "" : canonical.graph.values[to].name;
    }
    ADD_FAILURE() << "no %" << name;
    return "";
  }
};

TEST(CanonicalizeMapping, NoOpsStandForWhatTheyEqual) {
  const Case c(
      "  %same = copy %x : f32[4,8]\n"
      "  %e = exp %same : f32[4,8]\n"
      "  %again = exp %x : f32[4,8]\n"
      "  %y = add %e, %again : f32[4,8]\n"
      "  return %y\n");
  EXPECT_EQ(c.name_of("x"), "x");
  EXPECT_EQ(c.name_of("same"), "x");
  EXPECT_EQ(c.name_of("e"), "e");
  EXPECT_EQ(c.name_of("again"), "e");
  EXPECT_EQ(c.name_of("y"), "y");
}

TEST(CanonicalizeMapping, WhatIsGoneIsGone) {
  const Case c(
      "  %dead = sin %x : f32[4,8]\n"
      "  %rows = broadcast %b : f32[4,8]\n"
      "  %y = add %x, %rows : f32[4,8]\n"
      "  return %y\n");
  EXPECT_EQ(c.name_of("dead"), "");
  EXPECT_EQ(c.name_of("rows"), "");
  EXPECT_EQ(c.name_of("b"), "b");
}

TEST(CanonicalizeMapping, CompositesAreTheirLastPrimitive) {
  const Case c(
      "  %y = softmax %x : f32[4,8]\n"
      "  %y_exp = exp %y : f32[4,8]\n"
      "  return %y, %y_exp, %y\n");
  EXPECT_EQ(c.name_of("y"), "y");
  EXPECT_EQ(c.name_of("y_exp"), "y_exp");  // the primitive inside softmax has another name
  EXPECT_EQ(c.canonical.graph.outputs[0], c.canonical.graph.outputs[2]);
}

TEST(CanonicalizeMapping, OpaqueNodesAreNeverMerged) {
  const Case c(
      "  %p = opaque %x key=0 primitive=\"RandomBits\" : f32[4,8]\n"
      "  %q = opaque %x key=0 primitive=\"RandomBits\" : f32[4,8]\n"
      "  %y = sub %p, %q : f32[4,8]\n"
      "  return %y\n");
  EXPECT_EQ(c.name_of("p"), "p");
  EXPECT_EQ(c.name_of("q"), "q");
}

}  // namespace
}  // namespace autoperfect

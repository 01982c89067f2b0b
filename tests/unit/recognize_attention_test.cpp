// Attention in primitives is found whichever way it was written, and nothing else is.
#include "fuse/recognize_attention.h"

#include <gtest/gtest.h>

#include "canonicalize/canonicalize.h"
#include "ir/graph_text.h"

namespace autoperfect {
namespace {

struct Found {
  Graph graph;
  std::vector<AttentionMatch> matches;

  explicit Found(const std::string& body) {
    const auto parsed = parse_graph(
        "autoperfect.graph 1\ngraph @g(%q: f32[2,4,6,8], %kt: f32[2,4,8,9], %v: f32[2,4,9,5], %m: f32[6,9], "
        "%seen: bool[6,9]) {\n" +
        body + "}\n");
    if (!parsed) {
      ADD_FAILURE() << format(parsed.errors());
      return;
    }
    graph = canonicalize(*parsed).graph;
    matches = recognize_attention(graph);
  }
  std::string text() const { return matches.size() == 1 ? describe(graph, matches[0]) : ""; }
};

const std::string head = "attention: %y may run as fast.scaled_dot_product_attention of ";
const std::string plain = head + "%q, %kt (transposed), %v, scale ";

const std::string product = "  %s = matmul %q, %kt : f32[2,4,6,9]\n";
const std::string weights = "  %w = softmax %t : f32[2,4,6,9]\n";
const std::string mixed = "  %y = matmul %w, %v : f32[2,4,6,5]\n  return %y\n";
const std::string scale = "  %c = const 0.25 : f32[]\n";
const std::string scaled = product + scale + "  %t = mul %s, %c : f32[2,4,6,9]\n";

TEST(RecognizeAttention, WithoutScaleOrMask) {
  const Found found(product + "  %w = softmax %s : f32[2,4,6,9]\n" + mixed);
  EXPECT_EQ(found.text(), plain + "1.0");
  EXPECT_EQ(found.matches[0].nodes.size(), found.graph.nodes.size() - 1);  // all but the constant
}

TEST(RecognizeAttention, ScaledAnywhere) {
  EXPECT_EQ(Found(scaled + weights + mixed).text(), plain + "0.25");
  EXPECT_EQ(
      Found("  %c = const 4.0 : f32[]\n" + product + "  %t = div %s, %c : f32[2,4,6,9]\n" + weights + mixed)
          .text(),
      plain + "0.25");
  const std::string then = " : f32[2,4,6,9]\n" + weights + mixed;
  EXPECT_EQ(
      Found(scale + "  %a = mul %c, %q : f32[2,4,6,8]\n  %t = matmul %a, %kt" + then).text(), plain + "0.25");
  EXPECT_EQ(
      Found(scale + "  %a = mul %c, %kt : f32[2,4,8,9]\n  %t = matmul %q, %a" + then).text(), plain + "0.25");
}

TEST(RecognizeAttention, MaskedInEveryWay) {
  EXPECT_EQ(
      Found(
          product + scale + "  %x = mul %s, %c : f32[2,4,6,9]\n  %t = add %m, %x : f32[2,4,6,9]\n" + weights +
          mixed)
          .text(),
      plain + "0.25, %m added");
  EXPECT_EQ(
      Found(
          product + "  %low = const -inf : f32[]\n  %t = select %seen, %s, %low : f32[2,4,6,9]\n" + weights +
          mixed)
          .text(),
      plain + "1.0, where %seen");
  EXPECT_EQ(
      Found(
          product +
          "  %low = const -1e30 : f32[]\n  %not = logical_not %seen : bool[6,9]\n"
          "  %t = select %not, %low, %s : f32[2,4,6,9]\n" +
          weights + mixed)
          .text(),
      plain + "1.0, where %seen");
}

std::string causal(const std::string& first_query) {
  return product +
         "  %low = const -inf : f32[]\n  %k = arange start=0.0 step=1.0 : i32[9]\n  %i = arange start=" +
         first_query +
         " step=1.0 : i32[6]\n  %rows = reshape %i : i32[6,1]\n  %see = greater_equal %rows, %k : bool[6,9]\n"
         "  %t = select %see, %s, %low : f32[2,4,6,9]\n" +
         weights + mixed;
}

TEST(RecognizeAttention, Causal) {
  EXPECT_EQ(Found(causal("3.0")).text(), plain + "1.0, causal");
  EXPECT_EQ(Found(causal("0.0")).text(), plain + "1.0, where %see");  // aligned at the first key
}

TEST(RecognizeAttention, SoftmaxByHand) {
  EXPECT_EQ(
      Found(
          product +
          "  %high = max %s axes=[3] keepdims=true : f32[2,4,6,1]\n  %d = sub %s, %high : f32[2,4,6,9]\n"
          "  %e = exp %d : f32[2,4,6,9]\n  %n = sum %e axes=[3] keepdims=true : f32[2,4,6,1]\n"
          "  %w = div %e, %n : f32[2,4,6,9]\n" +
          mixed)
          .text(),
      plain + "1.0");
}

TEST(RecognizeAttention, HalvesWithAWideSoftmaxAndGroupedHeads) {
  const auto graph = parse_graph(R"(autoperfect.graph 1
graph @g(%q: bf16[2,4,6,8], %k: bf16[2,2,9,8], %v: bf16[2,2,9,5]) {
  %c = const 0.25 : bf16[]
  %scaled = mul %q, %c : bf16[2,4,6,8]
  %groups = reshape %scaled : bf16[2,2,2,6,8]
  %k_alone = reshape %k : bf16[2,2,1,9,8]
  %kt = transpose %k_alone axes=[0, 1, 2, 4, 3] : bf16[2,2,1,8,9]
  %s = matmul %groups, %kt : bf16[2,2,2,6,9]
  %w = softmax %s precise=true : bf16[2,2,2,6,9]
  %v_alone = reshape %v : bf16[2,2,1,9,5]
  %y = matmul %w, %v_alone : bf16[2,2,2,6,5]
  return %y
})");
  ASSERT_TRUE(graph.ok()) << format(graph.errors());
  const Graph canonical = canonicalize(*graph).graph;
  const auto matches = recognize_attention(canonical);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(canonical.values[matches[0].q].name, "q");
  EXPECT_TRUE(matches[0].is_wide);
  EXPECT_EQ(matches[0].scale, 0.25);
  EXPECT_EQ(canonical.type(matches[0].k_transposed).shape, (Shape{2, 2, 1, 8, 9}));
}

TEST(RecognizeAttention, NotWhatOnlyLooksLikeIt) {
  const std::map<std::string, std::string> others = {
      {"scaled after the mask",
       product + scale + "  %x = add %s, %m : f32[2,4,6,9]\n  %t = mul %x, %c : f32[2,4,6,9]\n" + weights +
           mixed},
      {"another axis",
       product +
           "  %high = max %s axes=[2] keepdims=true : f32[2,4,1,9]\n  %d = sub %s, %high : f32[2,4,6,9]\n"
           "  %e = exp %d : f32[2,4,6,9]\n  %n = sum %e axes=[2] keepdims=true : f32[2,4,1,9]\n"
           "  %w = div %e, %n : f32[2,4,6,9]\n" +
           mixed},
      {"a sum over another axis",
       product +
           "  %high = max %s axes=[3] keepdims=true : f32[2,4,6,1]\n  %d = sub %s, %high : f32[2,4,6,9]\n"
           "  %e = exp %d : f32[2,4,6,9]\n  %n = sum %e axes=[2] keepdims=true : f32[2,4,1,9]\n"
           "  %w = div %e, %n : f32[2,4,6,9]\n" +
           mixed},
      {"the maximum of something else",
       product +
           "  %o = sin %s : f32[2,4,6,9]\n  %high = max %o axes=[3] keepdims=true : f32[2,4,6,1]\n"
           "  %d = sub %s, %high : f32[2,4,6,9]\n  %e = exp %d : f32[2,4,6,9]\n"
           "  %n = sum %e axes=[3] keepdims=true : f32[2,4,6,1]\n  %w = div %e, %n : f32[2,4,6,9]\n" +
           mixed},
      {"weights that are returned",
       scaled + weights + "  %y = matmul %w, %v : f32[2,4,6,5]\n  return %y, %w\n"},
      {"scores that others read",
       scaled + weights +
           "  %y = matmul %w, %v : f32[2,4,6,5]\n  %z = sin %t : f32[2,4,6,9]\n  return %y, %z\n"},
      {"a mask that forbids nothing",
       product + "  %zero = const 0.0 : f32[]\n  %t = select %seen, %s, %zero : f32[2,4,6,9]\n" + weights +
           mixed},
      {"no scores", "  %w = softmax %m : f32[6,9]\n  %y = matmul %w, %v : f32[2,4,6,5]\n  return %y\n"},
      {"no softmax", product + "  %w = exp %s : f32[2,4,6,9]\n" + mixed},
  };
  for (const auto& [what, body] : others) {
    const Found found(body);
    EXPECT_FALSE(found.graph.nodes.empty());
    EXPECT_TRUE(found.matches.empty()) << what << "\n" << print(found.graph);
  }
}

}  // namespace
}  // namespace autoperfect

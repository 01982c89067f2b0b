// What a library's attention must show: right ones pass in every dtype, each wrong one fails.
#include "gate/attention_proof.h"

#include <gtest/gtest.h>

#include "canonicalize/canonicalize.h"
#include "ir/graph_text.h"
#include "lower/attention_call.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

// Attention in text, with what the tests vary; `%seen` is the causal mask.
struct Attention {
  std::string dtype = "f32";
  std::string scale = "0.25";
  std::string first_query = "3.0";
  std::string mask = "  %t = select %seen, %s, %low : T[2,2,6,9]\n";
  std::string keys = "";  // what becomes of %kt before it is read
  std::string read_keys = "%kt";
  std::string softmax = "  %w = softmax %t precise=true : T[2,2,6,9]\n";

  Graph graph() const {
    std::string text =
        "autoperfect.graph 1\ngraph @g(%q: T[2,2,6,8], %kt: T[2,2,8,9], %v: T[2,2,9,5], %m: bool[6,9]) {\n" +
        keys + "  %s0 = matmul %q, " + read_keys + " : T[2,2,6,9]\n  %c = const " + scale +
        " : T[]\n  %s = mul %s0, %c : T[2,2,6,9]\n  %low = const -inf : T[]\n"
        "  %k = arange start=0.0 step=1.0 : i32[9]\n  %i = arange start=" +
        first_query +
        " step=1.0 : i32[6]\n  %rows = reshape %i : i32[6,1]\n  %seen = greater_equal %rows, %k : "
        "bool[6,9]\n" +
        mask + softmax + "  %y = matmul %w, %v : T[2,2,6,5]\n  return %y\n}\n";
    for (size_t at = 0; (at = text.find(" T[", at)) != std::string::npos;)
      text.replace(at + 1, 1, dtype);
    auto parsed = parse_graph(text);
    if (!parsed) {
      ADD_FAILURE() << format(parsed.errors()) << text;
      return {};
    }
    return std::move(*parsed);
  }
};

// The first failure of `candidate` beside `written`, both by the reference; empty: all families passed.
std::string verdict(const Graph& written, const Graph& candidate) {
  bool decided = false;
  for (const auto& family : make_attention_families(written, 0.25, 5)) {
    auto references = attention_references(written, family.inputs);
    auto got = run_reference(candidate, family.inputs, Precision::exact);
    if (!references || !got) return "no reference";
    auto judged = judge_attention(*references, references->exact, got->at(0));
    if (!judged.passed) return family.name + ": " + judged.failure;
    if (family.name == "ordinary") decided = judged.decides;
  }
  return decided ? "" : "nothing is decided";
}

std::string family_of(const std::string& failure) {
  return failure.substr(0, failure.find(':'));
}

const std::string where = "  %t = select %m, %s, %low : T[2,2,6,9]\n";

TEST(AttentionProof, RightOnesPass) {
  for (const char* dtype : {"f32", "bf16", "f16"}) {
    for (const std::string& mask :
         {Attention().mask, where, std::string("  %t = add %s, %low : T[2,2,6,9]\n")}) {
      Attention written;
      written.dtype = dtype;
      written.mask = mask;
      EXPECT_EQ(verdict(written.graph(), written.graph()), "") << dtype << mask;
      EXPECT_EQ(verdict(written.graph(), canonicalize(written.graph()).graph), "") << dtype << mask;
    }
    // Scores that stay in f32, as in a kernel that holds them in registers.
    Attention written;
    written.dtype = dtype;
    Attention wide = written;
    wide.mask =
        "  %qw = cast %q dtype=f32 : f32[2,2,6,8]\n  %kw = cast %kt dtype=f32 : f32[2,2,8,9]\n"
        "  %sw = matmul %qw, %kw : f32[2,2,6,9]\n  %cw = const 0.25 : f32[]\n  %st = mul %sw, %cw : "
        "f32[2,2,6,9]\n"
        "  %loww = const -inf : f32[]\n  %t = select %seen, %st, %loww : f32[2,2,6,9]\n";
    wide.softmax =
        "  %ww = softmax %t : f32[2,2,6,9]\n  %w = cast %ww dtype=" + std::string(dtype) + " : T[2,2,6,9]\n";
    EXPECT_EQ(verdict(written.graph(), wide.graph()), "") << dtype;
  }
}

TEST(AttentionProof, WrongOnesFail) {
  for (const char* dtype : {"f32", "bf16", "f16"}) {
    Attention written;
    written.dtype = dtype;
    auto expect_refused = [&](const Attention& wrong, const char* family) {
      EXPECT_EQ(family_of(verdict(written.graph(), wrong.graph())), family) << dtype;
    };
    Attention scale = written;
    scale.scale = "0.27";
    expect_refused(scale, "ordinary");
    for (const char* first : {"2.0", "4.0"}) {
      Attention causal = written;
      causal.first_query = first;
      expect_refused(causal, "ordinary");
    }
    Attention unmasked = written;
    unmasked.mask = "  %none = const 0.0 : T[]\n  %t = add %s, %none : T[2,2,6,9]\n";
    expect_refused(unmasked, "ordinary");
    // The keys in another order: what transposing them twice, and reading them as one, would give.
    Attention turned = written;
    turned.keys = "  %kf = reshape %kt : T[2,2,9,8]\n  %kx = transpose %kf axes=[0, 1, 3, 2] : T[2,2,8,9]\n";
    turned.read_keys = "%kx";
    expect_refused(turned, "ordinary");
  }
}

TEST(AttentionProof, MasksMustMeanTheSame) {
  Attention written;
  written.mask = where;
  Attention inverted = written, finite = written;
  inverted.mask = "  %t = select %m, %low, %s : T[2,2,6,9]\n";
  EXPECT_EQ(family_of(verdict(written.graph(), inverted.graph())), "ordinary");
  // Of a row that sees nothing: NaN, or an average.
  finite.mask = "  %lowest = const -1e30 : T[]\n  %t = select %m, %s, %lowest : T[2,2,6,9]\n";
  EXPECT_EQ(family_of(verdict(written.graph(), finite.graph())), "rows that see nothing");
  EXPECT_EQ(family_of(verdict(finite.graph(), written.graph())), "rows that see nothing");
  // Of a key that nobody sees: dropped, or NaN in every row.
  Attention added = finite;
  added.mask =
      "  %lowest = const -1e30 : T[]\n  %none = const 0.0 : T[]\n  %b = select %m, %none, %lowest : T[6,9]\n"
      "  %t = add %s, %b : T[2,2,6,9]\n";
  EXPECT_EQ(family_of(verdict(finite.graph(), added.graph())), "NaN in k");
}

// The small graph is the program of the match, in other sizes.
TEST(AttentionProof, SmallSizesKeepWhatTheLibraryGoesBy) {
  auto sizes = [](int queries, int keys) {
    auto text = [](int n) { return std::to_string(n); };
    auto parsed = parse_graph(
        "autoperfect.graph 1\ngraph @g(%q: f32[5,2," + text(queries) + ",8], %kt: f32[5,2,8," + text(keys) +
        "], %v: f32[5,2," + text(keys) + ",4]) {\n  %s = matmul %q, %kt : f32[5,2," + text(queries) + "," +
        text(keys) + "]\n  %w = softmax %s : f32[5,2," + text(queries) + "," + text(keys) +
        "]\n  %y = matmul %w, %v : f32[5,2," + text(queries) + ",4]\n  return %y\n}\n");
    EXPECT_TRUE(parsed.ok());
    const Graph graph = canonicalize(*parsed).graph;
    const auto matches = recognize_attention(graph);
    EXPECT_EQ(matches.size(), 1u);
    const auto small = small_sizes(graph, matches.at(0));
    const auto call = write_call(graph, matches[0], small);
    EXPECT_TRUE(call.ok());
    EXPECT_TRUE(verify(call->written).empty());
    for (const auto& library : call->library)
      EXPECT_TRUE(verify(library).empty());
    const Shape &q = call->written.type(call->written.inputs[0].value).shape,
                &kt = call->written.type(call->written.inputs[1].value).shape;
    EXPECT_EQ(q, (Shape{2, 2, q[2], 8}));
    EXPECT_EQ(kt, (Shape{2, 2, 8, kt[3]}));
    return std::pair(static_cast<int>(q[2]), static_cast<int>(kt[3]));
  };
  EXPECT_EQ(sizes(1024, 1024), std::pair(32, 32));
  EXPECT_EQ(sizes(1000, 1000), std::pair(40, 40));
  EXPECT_EQ(sizes(1, 1024), std::pair(1, 64));
  EXPECT_EQ(sizes(200, 1030), std::pair(40, 70));
  EXPECT_EQ(sizes(1030, 200), std::pair(70, 40));
  EXPECT_EQ(sizes(7, 9), std::pair(7, 9));
}

}  // namespace
}  // namespace autoperfect

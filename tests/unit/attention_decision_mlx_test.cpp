// Calls of MLX's attention that are wrong where only the full size shows it, and what the cache keeps of
// decisions.
#include <gtest/gtest.h>

#include <filesystem>

#include "cache/cache.h"
#include "cache/entry_file.h"
#include "canonicalize/canonicalize.h"
#include "pipeline/prove_attention.h"
#include "written_attention.h"

namespace autoperfect {
namespace {

// A call that is right at small sizes and wrong at the program's own.
TEST(AttentionDecision, WhatIsWrongAtFullSizeOnlyIsFound) {
  const Arrays arguments{
      normal({2, 3, 100, 16}, mx::bfloat16, 1),
      normal({2, 3, 100, 16}, mx::bfloat16, 2),
      normal({2, 3, 100, 8}, mx::bfloat16, 3)};
  auto fn = [](const Arrays& a) {
    return Arrays{attend(a[0], a[1], a[2], 0.25, [](auto s) { return causal(s, -1e9); })};
  };
  const Graph graph = canonicalize(capture(fn, arguments).graph).graph;
  const auto match = recognize_attention(graph).at(0);
  const auto right = *write_call(graph, match, sizes_of(graph, match));
  const ArrayFunction written = [&](const Arrays& inputs) { return interpret(right.written, inputs); };
  auto proof_with = [&](const std::function<void(Graph&, Node&)>& change) {
    AttentionCall call = right;
    for (auto& library : call.library)
      for (auto& node : library.nodes)
        if (node.op == Op::scaled_dot_product_attention) change(library, node);
    return prove_attention(graph, match, call, written, sample_inputs(graph, match, call), 5);
  };
  EXPECT_EQ(proof_with([](Graph&, Node&) {}).form, 0u);
  auto scaled = proof_with([](Graph&, Node& node) { node.attributes.set("scale", 0.26); });
  EXPECT_FALSE(scaled.form);
  EXPECT_TRUE(scaled.rejected.at(0).starts_with("a causal flag: ordinary, at full size: off by"))
      << scaled.rejected[0];
  auto unmasked = proof_with([](Graph&, Node& node) {
    node.attributes.erase("causal");
    node.operands.resize(3);
  });
  EXPECT_FALSE(unmasked.form);
  // Where what is written makes NaN of a key that nobody sees, what skips it is something else.
  const ArrayFunction skips = [&](const Arrays& inputs) {
    Arrays clean = inputs;
    clean[2] = mx::nan_to_num(clean[2]);
    return interpret(right.written, clean);
  };
  auto skipping = prove_attention(graph, match, right, skips, sample_inputs(graph, match, right), 5);
  EXPECT_FALSE(skipping.form);
  EXPECT_EQ(
      skipping.rejected.at(0),
      "a causal flag: NaN in the last value, at full size: NaN and infinities are elsewhere");
}

// A decision kept about attention whose queries are of that type, and its file.
std::optional<std::pair<CacheEntry, std::string>> kept_of(const std::string& type) {
  auto& cache = Cache::instance();
  for (const auto& row : cache.list()) {
    const std::string file = cache.directory() + "/" + row.file;
    auto bytes = read_entry_file(file);
    auto entry = bytes ? decode_entry(*bytes) : std::nullopt;
    if (entry && entry->key.starts_with("autoperfect.attention ") &&
        entry->key.find(type) != std::string::npos)
      return std::pair(*entry, file);
  }
  return std::nullopt;
}

// As in a process that finds nothing on disk; what an older version kept goes as well.
void forget(const std::string& type) {
  while (auto kept = kept_of(type))
    std::filesystem::remove(kept->second);
}

// Timed once: what was decided, and why, is kept, whichever way it went.
TEST(AttentionDecision, DecisionsAreKept) {
  forget("f32[2,3,40,16]");
  auto fn = [](const Arrays& a) { return Arrays{attend(a[0], a[1], a[2], 0.25, unmasked)}; };
  const Arrays arguments{
      normal({2, 3, 40, 16}, mx::float32, 1),
      normal({2, 3, 71, 16}, mx::float32, 2),
      normal({2, 3, 71, 24}, mx::float32, 3)};
  auto options = with_library(RegionCode::tuned);
  options.tune.bench.max_seconds = 0.2;
  auto first = built(fn, arguments, options), second = built(fn, arguments, options);
  const auto &decided = first->attentions().at(0), &known = second->attentions().at(0);
  EXPECT_FALSE(decided.from_cache);
  EXPECT_TRUE(known.from_cache);
  EXPECT_EQ(known.used, decided.used);
  EXPECT_EQ(known.reason, decided.reason);
  EXPECT_EQ(known.proof, decided.proof);
  EXPECT_FALSE(known.proof.empty());
  ASSERT_EQ(known.timings.size(), decided.timings.size());
  ASSERT_GE(known.timings.size(), 4u);
  EXPECT_EQ(known.timings[0].name, "fast.scaled_dot_product_attention");
  EXPECT_EQ(known.timings[1].name, "eager");
  EXPECT_EQ(known.timings[2].name, "mx.compile");
  EXPECT_EQ(known.timings[3].name, "its products alone");
  for (size_t i = 0; i < known.timings.size(); ++i)
    EXPECT_EQ(known.timings[i].median, decided.timings[i].median);
  EXPECT_LE(largest_difference(second->call(arguments)[0], fn(arguments)[0]), 1e-5);
}

// What the cache says is believed where it names the very call that would be made, and nowhere else.
TEST(AttentionDecision, AKeptDecisionForAnotherCallIsNone) {
  auto fn = [](const Arrays& a) { return Arrays{attend(a[0], a[1], a[2], 0.5, unmasked)}; };
  const Arrays arguments{
      normal({2, 3, 11, 16}, mx::float32, 1),
      normal({2, 3, 13, 16}, mx::float32, 2),
      normal({2, 3, 13, 8}, mx::float32, 3)};
  auto options = with_library(RegionCode::tuned);
  options.tune.bench.max_seconds = 0.05;
  auto& cache = Cache::instance();
  ASSERT_TRUE(cache.persistent());
  forget("f32[2,3,11,16]");
  built(fn, arguments, options);
  auto found = kept_of("f32[2,3,11,16]");
  ASSERT_TRUE(found);
  CacheEntry kept = found->first;
  const CacheEntry right = kept;
  auto decide = [&](bool use_mlx, const std::string& call, const std::string& evidence) {
    kept.use_mlx = use_mlx;
    kept.candidate.source = call;
    kept.evidence = evidence;
    cache.store(kept);
    return built(fn, arguments, options)->attentions().at(0);
  };
  const std::string evidence =
      R"({"reason": "as kept", "proof": "kept", "timings": [], "rejected": [3, "why"]})";
  auto stays = decide(true, "", evidence);
  EXPECT_TRUE(stays.from_cache);
  EXPECT_FALSE(stays.used);
  EXPECT_EQ(stays.reason, "as kept");
  EXPECT_EQ(stays.rejected, std::vector<std::string>{"why"});
  EXPECT_FALSE(decide(false, "autoperfect.graph 1\n", evidence).from_cache);
  EXPECT_FALSE(decide(true, "", "no JSON").from_cache);
  cache.store(right);
}

}  // namespace
}  // namespace autoperfect

// What canonicalize() promises, over random small graphs: it changes no bit of any value, is idempotent, and
// the same program has the same text however it was spelled.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "canonicalize/canonicalize.h"
#include "canonicalize/passes.h"
#include "ir/graph_text.h"
#include "ir/shape.h"
#include "random_graph.h"

namespace autoperfect {
namespace {

constexpr unsigned graphs = 2000;

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.type == b.type)) return false;
  for (int64_t i = 0; i < a.type.elements(); ++i) {
    const bool floating = is_floating(a.type.dtype);
    if (floating && std::isnan(a.at(i)) && std::isnan(b.at(i))) continue;
    if (floating ? a.at(i) != b.at(i) || std::signbit(a.at(i)) != std::signbit(b.at(i))
                 : a.integer_at(i) != b.integer_at(i)) {
      return false;
    }
  }
  return true;
}

// Mapped values still have their types: make them all outputs and compare them as well.
void expect_same(
    const Graph& source,
    const Graph& rewritten,
    const std::vector<ValueId>& value_of,
    const std::vector<Tensor>& inputs) {
  Graph before = source, after = rewritten;
  for (size_t v = 0; v < source.values.size(); ++v) {
    if (value_of[v] < 0) continue;
    before.outputs.push_back(static_cast<ValueId>(v));
    after.outputs.push_back(value_of[v]);
  }
  auto expected = run_reference(before, inputs, Precision::exact);
  auto actual = run_reference(after, inputs, Precision::exact);
  ASSERT_TRUE(expected.ok() && actual.ok());
  ASSERT_EQ(expected->size(), actual->size());
  for (size_t i = 0; i < expected->size(); ++i) {
    EXPECT_TRUE(same_bits((*expected)[i], (*actual)[i]))
        << "output " << i << " %" << before.values[before.outputs[i]].name;
  }
}

std::vector<Tensor> inputs_of(const Graph& graph, RandomGraph& random) {
  std::vector<Tensor> inputs;
  for (const auto& input : graph.inputs)
    inputs.push_back(random.tensor(graph.type(input.value)));
  return inputs;
}

TEST(CanonicalizeRandom, ChangesNoBitAndIsIdempotent) {
  for (unsigned seed = 0; seed < graphs; ++seed) {
    RandomGraph random(seed);
    const Graph source = random.build();
    ASSERT_TRUE(verify(source).empty());
    const Canonical canonical = canonicalize(source);
    const std::string text = print(canonical.graph);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(source) + text);
    EXPECT_EQ(format(verify(canonical.graph)), "");
    EXPECT_EQ(print(canonicalize(canonical.graph).graph), text);
    for (auto output : source.outputs)
      EXPECT_GE(canonical.value_of_source[output], 0);
    expect_same(source, canonical.graph, canonical.value_of_source, inputs_of(source, random));
    if (HasFailure()) return;
  }
}

TEST(CanonicalizeRandom, EachRuleAloneChangesNoBitAndSaysWhetherItChangedTheText) {
  std::vector<std::pair<std::string, Rules>> passes;
  for (const auto& [name, rule] : all_rules())
    passes.push_back({std::string(name), {{rule}, {}, false}});
  passes.push_back({"merging", {{}, {}, true}});
  for (unsigned seed = 0; seed < graphs / 4; ++seed) {
    RandomGraph random(seed);
    const Graph source = random.build();
    const std::string text = print(source);
    const auto inputs = inputs_of(source, random);
    for (const auto& [name, rules] : passes) {
      const Rewrite once = rewrite(source, rules);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + name + "\n" + text + print(once.graph));
      EXPECT_EQ(once.changed, print(once.graph) != text);
      EXPECT_EQ(format(verify(once.graph)), "");
      expect_same(source, once.graph, once.value_of, inputs);
      if (HasFailure()) return;
    }
    const Rewrite ordered = order_nodes(source);
    EXPECT_EQ(ordered.changed, print(ordered.graph) != text);
    expect_same(source, ordered.graph, ordered.value_of, inputs);
  }
}

// A copy of a graph, node by node, each possibly spelled in another way.
class Respelling {
 public:
  Respelling(const Graph& source, unsigned seed) : source_(source), random_(seed) {}

  // Nodes in another topological order, other names, operands of commutative ops either way round.
  Graph shuffled() {
    start("in");
    std::vector<NodeId> ready;
    std::vector<size_t> missing(source_.nodes.size());
    const Uses uses = find_uses(source_);
    for (size_t n = 0; n < source_.nodes.size(); ++n) {
      std::vector<ValueId> operands = source_.nodes[n].operands;
      std::sort(operands.begin(), operands.end());
      operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
      for (auto operand : operands)
        missing[n] += source_.producer(operand) != nullptr;
      if (missing[n] == 0) ready.push_back(static_cast<NodeId>(n));
    }
    while (!ready.empty()) {
      std::swap(ready[random_() % ready.size()], ready.back());
      const NodeId id = ready.back();
      ready.pop_back();
      Node node = source_.nodes[id];
      if (is_commutative(node.op) && random_() % 2) std::swap(node.operands[0], node.operands[1]);
      copy(node, mapped(node.operands));
      for (auto result : node.results) {
        for (auto reader : uses.readers[result]) {
          if (--missing[reader] == 0) ready.push_back(reader);
        }
      }
    }
    return finished();
  }

  // Operands of elementwise ops broadcast before the op does it, leading ones added or not.
  Graph broadcast() {
    start("x");
    for (const auto& node : source_.nodes) {
      auto operands = mapped(node.operands);
      if (class_of(node.op) == OpClass::elementwise) {
        for (auto& operand : operands)
          operand = widened(operand, source_.type(node.results[0]).shape);
      }
      copy(node, std::move(operands));
    }
    return finished();
  }

 private:
  void start(const std::string& name) {
    value_of_.assign(source_.values.size(), -1);
    for (const auto& input : source_.inputs)
      value_of_[input.value] = graph_.add_input(name, source_.type(input.value), input.captured_hash);
  }

  std::vector<ValueId> mapped(const std::vector<ValueId>& source) const {
    std::vector<ValueId> values;
    for (auto v : source)
      values.push_back(value_of_[v]);
    return values;
  }

  void copy(const Node& node, std::vector<ValueId> operands) {
    value_of_[node.results[0]] = graph_.add(node.op, std::move(operands), node.attributes, "v");
  }

  ValueId widened(ValueId v, const Shape& shape) {
    Attributes attributes;
    const Shape own = graph_.type(v).shape;
    if (random_() % 3 == 0 && own.size() < shape.size()) {
      Shape padded(shape.size() - own.size(), 1);
      padded.insert(padded.end(), own.begin(), own.end());
      attributes.set("shape", padded);
      v = graph_.add(Op::reshape, {v}, attributes);
    }
    if (random_() % 2) return v;
    attributes.set("shape", shape);
    return graph_.add(Op::broadcast, {v}, attributes);
  }

  Graph finished() {
    graph_.outputs = mapped(source_.outputs);
    return graph_;
  }

  const Graph& source_;
  std::mt19937 random_;
  Graph graph_;
  std::vector<ValueId> value_of_;
};

std::string text_of(const Graph& graph) {
  return print(canonicalize(graph).graph, Names::canonical);
}

TEST(CanonicalizeRandom, TheOrderOfCaptureAndNamesDoNotShow) {
  for (unsigned seed = 0; seed < graphs; ++seed) {
    const Graph source = RandomGraph(seed).build();
    const Graph other = Respelling(source, seed).shuffled();
    ASSERT_EQ(text_of(other), text_of(source)) << "seed " << seed << "\n" << print(source) << print(other);
  }
}

TEST(CanonicalizeRandom, BroadcastsDoNotShow) {
  for (unsigned seed = 0; seed < graphs; ++seed) {
    const Graph source = RandomGraph(seed).build();
    const Graph other = Respelling(source, seed).broadcast();
    ASSERT_EQ(text_of(other), text_of(source)) << "seed " << seed << "\n" << print(source) << print(other);
  }
}

}  // namespace
}  // namespace autoperfect

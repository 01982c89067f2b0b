// Growth by benefit over penalty: what merging two sets of nodes gains, costs, and where a cap ends it.
#include <gtest/gtest.h>

#include <numeric>

#include "cost/cost.h"
#include "cost/footprint.h"

namespace autoperfect {
namespace {

const TensorType large = {Dtype::f32, {4096, 4096}};

Target target() {
  return *find_target("cpu.avx512");
}

std::vector<NodeId> range(NodeId first, NodeId last) {
  std::vector<NodeId> nodes(static_cast<size_t>(last - first));
  std::iota(nodes.begin(), nodes.end(), first);
  return nodes;
}

Footprint footprint_of_all(const Graph& graph) {
  std::vector<ValueId> inputs;
  for (const auto& input : graph.inputs)
    inputs.push_back(input.value);
  return footprint_of(graph, range(0, static_cast<NodeId>(graph.nodes.size())), inputs, graph.outputs);
}

TEST(MergeGain, OfAProducerAndItsOnlyReaderIsTheTripToMemory) {
  Graph graph;
  auto x = graph.add_input("x", large);
  auto y = graph.add(Op::neg, {x});
  graph.outputs = {graph.add(Op::abs, {y})};
  auto gain = merge_gain(graph, find_uses(graph), {{0}, {1}}, target());
  double trip = 2.0 * static_cast<double>(large.bytes()) / target().copy_bytes_per_second;
  EXPECT_NEAR(gain.gain_seconds, trip + target().launch_seconds, 1e-6);
  EXPECT_EQ(gain.penalty_seconds, 0);
  EXPECT_TRUE(gain.worth());
}

TEST(MergeGain, OfReadersOfOneTensorIsReadingItOnce) {
  Graph graph;
  auto x = graph.add_input("x", large);
  graph.outputs = {graph.add(Op::neg, {x}), graph.add(Op::abs, {x})};
  auto gain = merge_gain(graph, find_uses(graph), {{0}, {1}}, target());
  double trip = static_cast<double>(large.bytes()) / target().copy_bytes_per_second;
  EXPECT_NEAR(gain.gain_seconds, trip + target().launch_seconds, 1e-6);
}

// Two reductions over all, the second of what waits for the first: merged, the tensor does not stay in a
// cache, so nothing but a launch is gained, and the penalty says what the second sweep costs.
TEST(MergeGain, SweepsOverRowsBeyondTheCacheAreAPenalty) {
  Graph graph;
  auto x = graph.add_input("x", large);
  Attributes all;
  all.set("axes", std::vector<int64_t>{0, 1});
  auto total = graph.add(Op::sum, {x}, all);
  graph.outputs = {graph.add(Op::mul, {x, total})};
  auto gain = merge_gain(graph, find_uses(graph), {{0}, {1}}, target());
  double sweep = static_cast<double>(large.bytes()) / target().copy_bytes_per_second;
  EXPECT_NEAR(gain.penalty_seconds, sweep, 1e-3 * sweep);
  EXPECT_NEAR(gain.gain_seconds - gain.penalty_seconds, target().launch_seconds, 1e-6);
}

// x_i = f_i(x) for many i, all of them alive until they are added up from the last to the first.
Graph many_alive(int count) {
  Graph graph;
  auto x = graph.add_input("x", large);
  std::vector<ValueId> alive;
  for (int i = 0; i < count; ++i)
    alive.push_back(graph.add(Op::tanh, {i ? alive.back() : x}));
  auto sum = alive.back();
  for (int i = count - 2; i >= 0; --i)
    sum = graph.add(Op::add, {sum, alive[i]});
  graph.outputs = {sum};
  return graph;
}

TEST(Footprint, CountsValuesAliveAtOnce) {
  EXPECT_EQ(footprint_of_all(many_alive(10)).live_vectors, 10);
}

TEST(MergeGain, RegistersThatOverflowAreAPenaltyAndThenACap) {
  auto fits = many_alive(20), spills = many_alive(60), refused = many_alive(200);
  auto merge_halves = [](const Graph& graph) {
    auto half = static_cast<NodeId>((graph.nodes.size() + 1) / 2),
         end = static_cast<NodeId>(graph.nodes.size());
    return merge_gain(graph, find_uses(graph), {range(0, half), range(half, end)}, target());
  };
  EXPECT_EQ(merge_halves(fits).penalty_seconds, 0);
  EXPECT_GT(merge_halves(spills).penalty_seconds, 0);
  EXPECT_EQ(merge_halves(spills).refusal, "");
  EXPECT_EQ(merge_halves(refused).refusal, "the kernel would keep over 128 values at once, and spill");
}

TEST(MergeGain, HundredsOfInputsAreRefused) {
  Graph graph;
  auto sum = graph.add_input("x", large);
  for (int i = 0; i < 300; ++i)
    sum = graph.add(Op::add, {sum, graph.add_input("x", large)});
  graph.outputs = {sum};
  auto gain = merge_gain(graph, find_uses(graph), {range(0, 150), range(150, 300)}, target());
  EXPECT_EQ(gain.refusal, "the kernel would read and write over 64 buffers");
  EXPECT_FALSE(gain.worth());
}

TEST(MergeGain, AChainOfAThousandOpsIsRefused) {
  Graph graph;
  auto x = graph.add_input("x", large);
  for (int i = 0; i < 1000; ++i)
    x = graph.add(Op::neg, {x});
  graph.outputs = {x};
  auto gain = merge_gain(graph, find_uses(graph), {range(0, 500), range(500, 1000)}, target());
  EXPECT_EQ(gain.refusal, "the kernel would hold over 512 ops");
}

TEST(PeakLiveBytes, OfAChainIsTwoTensorsAndFusedNone) {
  Graph graph;
  auto x = graph.add_input("x", {Dtype::f32, {1024}});
  auto a = graph.add(Op::neg, {x});
  auto b = graph.add(Op::abs, {a});
  graph.outputs = {graph.add(Op::square, {b})};
  EXPECT_EQ(peak_live_bytes(graph), 3 * 4096);               // the input, what is read, what is made
  EXPECT_EQ(peak_live_bytes(graph, {{0, 1, 2}}), 2 * 4096);  // the input and the output
}

TEST(PeakLiveBytes, ViewsOwnNothingAndKeepWhatTheyViewAlive) {
  Graph graph;
  auto x = graph.add_input("x", {Dtype::f32, {32, 32}});
  auto a = graph.add(Op::neg, {x});
  Attributes shape;
  shape.set("shape", Shape{1024});
  auto view = graph.add(Op::reshape, {a}, shape);
  auto b = graph.add(Op::abs, {x});
  graph.outputs = {b, graph.add(Op::square, {view})};
  EXPECT_EQ(peak_live_bytes(graph), 4 * 4096);  // the input, a, b and the square of the view
}

}  // namespace
}  // namespace autoperfect

// A captured program against MLX eager: by replay of its primitives and by application of its ops, bit for
// bit.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "capture/capture.h"
#include "ir/graph_text.h"
#include "mlx/mlx.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using mx::array;
using Arrays = std::vector<array>;

array sample(const mx::Shape& shape, mx::Dtype dtype = mx::float32, float scale = 1.0f, uint64_t seed = 1) {
  auto normal = mx::random::normal(shape, mx::float32, 0.0f, scale, mx::random::key(seed));
  auto result = dtype == mx::bool_ ? mx::greater(normal, array(0.0f)) : mx::astype(normal, dtype);
  result.eval();
  return result;
}

void expect_same_bits(array actual, array expected, const std::string& what) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  actual = mx::contiguous(actual);
  expected = mx::contiguous(expected);
  mx::eval(actual, expected);
  if (expected.size() == 0) return;
  EXPECT_EQ(std::memcmp(actual.data<char>(), expected.data<char>(), expected.nbytes()), 0) << what;
}

// Runs every node by `run`, as a pipeline does.
template <class Run>
Arrays run_nodes(const Captured& captured, const Arrays& arguments, Run run) {
  std::vector<std::optional<array>> values(captured.graph.values.size());
  size_t constant = 0;
  for (size_t i = 0; i < captured.graph.inputs.size(); ++i) {
    const auto& input = captured.graph.inputs[i];
    values[input.value] = input.captured_hash.empty() ? arguments[i] : captured.constants[constant++];
  }
  for (size_t n = 0; n < captured.graph.nodes.size(); ++n) {
    const auto& node = captured.graph.nodes[n];
    Arrays operands;
    for (auto operand : node.operands)
      operands.push_back(*values[operand]);
    auto results = run(static_cast<NodeId>(n), node, operands);
    EXPECT_EQ(results.size(), node.results.size());
    for (size_t i = 0; i < results.size(); ++i)
      values[node.results[i]] = results[i];
  }
  Arrays outputs;
  for (auto output : captured.graph.outputs)
    outputs.push_back(*values[output]);
  return outputs;
}

struct Program {
  const char* name;
  ArrayFunction fn;
  Arrays arguments;
  const char* op = nullptr;  // an op the graph must contain
};

void check(const Program& program) {
  SCOPED_TRACE(program.name);
  auto captured = capture(program.fn, program.arguments);
  ASSERT_FALSE(captured.uses_tracers);
  auto text = print(captured.graph);
  EXPECT_TRUE(verify(captured.graph).empty()) << format(verify(captured.graph), text);
  if (program.op) {
    EXPECT_NE(text.find(std::string("= ") + program.op + " "), std::string::npos) << text;
  }
  auto again = print(capture(program.fn, program.arguments).graph);
  EXPECT_EQ(text, again) << "not deterministic";
  auto expected = program.fn(program.arguments);
  auto replayed = run_nodes(captured, program.arguments, [&](NodeId id, const Node&, const Arrays& operands) {
    return replay(captured, id, operands);
  });
  auto applied =
      run_nodes(captured, program.arguments, [&](NodeId id, const Node& node, const Arrays& operands) {
        return needs_its_primitive(node.op) ? replay(captured, id, operands)
                                            : apply(captured.graph, id, operands);
      });
  ASSERT_EQ(replayed.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    expect_same_bits(replayed[i], expected[i], "replay of " + text);
    expect_same_bits(applied[i], expected[i], "application of " + text);
  }
}

}  // namespace
}  // namespace autoperfect

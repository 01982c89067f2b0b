// What the gate says of a wrong element: the statement it comes from, and the lines of the program.
#include <gtest/gtest.h>

#include "gate/judge.h"
#include "gate/origin.h"
#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

Kernel centred() {
  auto kernel = parse_kernel(
      "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[2,4] row\n    out %y: f32[2,8] row\n"
      "    out %n: f32[2] row\n  }\n  math {\n    axes i=2, j=4\n"
      "    %total[i] = sum(j) %x[i,j] : f32\n    %n[i] = neg %total[i] : f32\n"
      "    %mean[i] = mul %total[i], 0.25 : f32\n    %y[i,2*j] = sub %x[i,j], %mean[i] : f32\n"
      "    %y[i,2*j+1] = exp %x[i,j] : f32\n  }\n  numerics {\n    accumulate f32\n    reassociate yes\n"
      "    budget ulp=4 abs=0 rel=0\n  }\n}\n");
  EXPECT_TRUE(kernel.ok()) << format(kernel.errors());
  return *kernel;
}

Kernel of_a_program() {
  auto kernel = centred();
  kernel.lines = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"program.py:11 in f", "program.py:12 in f", "program.py:20 in f"});
  const int lines[] = {1, 3, 1, 2, 3};
  for (size_t v = 0; v < kernel.values.size(); ++v)
    kernel.values[v].where = {lines[v], 1, 1};
  return kernel;
}

TEST(Origin, IsTheStatementOfTheElement) {
  auto kernel = of_a_program();
  auto origin = origin_of(kernel, 0, 10);  // [1, 2]
  EXPECT_EQ(origin.statement, "%y[i,2*j] = sub %x[i,j], %mean[i] : f32");
  EXPECT_EQ(origin.places, "program.py:12 in f, %mean at program.py:11 in f");
  origin = origin_of(kernel, 0, 3);
  EXPECT_EQ(origin.statement, "%y[i,2*j+1] = exp %x[i,j] : f32");
  EXPECT_EQ(origin.places, "program.py:20 in f");
  origin = origin_of(kernel, 1, 1);
  EXPECT_EQ(origin.statement, "%n[i] = neg %total[i] : f32");
  EXPECT_EQ(origin.places, "program.py:20 in f, %total at program.py:11 in f");
}

TEST(Origin, OfATextIsItsLine) {
  auto origin = origin_of(centred(), 0, 1);
  EXPECT_EQ(origin.statement, "%y[i,2*j+1] = exp %x[i,j] : f32");
  EXPECT_EQ(origin.places, "line 14");
}

TEST(Origin, OutputsAreJudgedInTheOrderTheyAreComputed) {
  auto kernel = of_a_program();
  EXPECT_EQ(in_order_of_statements(kernel), (std::vector<size_t>{1, 0}));
  InputFamily family{"normal", kernel, {Tensor::of({Dtype::f32, {2, 4}}, {1, 2, 3, 4, 5, 6, 7, 8})}};
  References references;
  references.oracle = *run_reference(kernel, family.inputs, Precision::oracle);
  references.exact = *run_reference(kernel, family.inputs, Precision::exact);
  auto outputs = references.exact;
  outputs[0].set(1, 0.5);
  outputs[1].set(1, 3);
  auto result = judge(family, references, outputs);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.failure.find("%n[1]: expected -26, got 3"), 0u) << result.failure;
  EXPECT_NE(result.failure.find("; %n[i] = neg %total[i] : f32"), std::string::npos) << result.failure;
  EXPECT_EQ(result.failure.find("program.py"), std::string::npos) << result.failure;
  EXPECT_EQ(result.places, "program.py:20 in f, %total at program.py:11 in f");
}

// The way from graph nodes to values, and nothing hashed has any of it.
TEST(Origin, ValuesOfALoweredKernelKnowTheirNodes) {
  std::string text =
      "autoperfect.graph 1\ngraph @f(%x: f32[4,8], %w: f32[8]) {\n  %s = sum %x axes=[1] keepdims=true : "
      "f32[4,1]\n"
      "  %d = sub %x, %s : f32[4,8]\n  %y = mul %d, %w : f32[4,8]\n  return %y\n}\n";
  auto graph = *parse_graph(text);
  Region region;
  region.nodes = {0, 1, 2};
  region.inputs = {0, 1};
  region.outputs = {graph.outputs[0]};
  auto kernel = lower(graph, region);
  ASSERT_TRUE(kernel.ok()) << format(kernel.errors());
  for (const auto& value : kernel->values) {
    ASSERT_EQ(value.nodes.size(), 1u) << value.name;
    EXPECT_EQ(value.name, graph.values[graph.nodes[value.nodes[0]].results[0]].name);
    EXPECT_EQ(value.where.line, graph.nodes[value.nodes[0]].where.line);
  }
  auto before = signature(*kernel);
  for (auto& node : graph.nodes)
    node.where.line += 100;
  EXPECT_EQ(signature(*lower(graph, region)), before);
}

}  // namespace
}  // namespace autoperfect

// Nodes with several results in the reference executor.
#include <gtest/gtest.h>

#include "ir/graph_text.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

TEST(ReferenceResults, SplitAndDivmodGiveAllOfThem) {
  auto graph = parse_graph(
      "autoperfect.graph 1\n"
      "graph @g(%x: i32[2,3], %y: i32[2,3]) {\n"
      "  %a, %b = split %x axis=1 indices=[2] : i32[2,2], i32[2,1]\n"
      "  %q, %r = divmod %x, %y : i32[2,3], i32[2,3]\n"
      "  return %a, %b, %q, %r\n"
      "}\n");
  ASSERT_TRUE(graph) << format(graph.errors());
  const TensorType type{Dtype::i32, {2, 3}};
  auto results = run_reference(
      *graph, {Tensor::of(type, {1, 2, 3, 4, 5, 6}), Tensor::of(type, {2, 2, 2, 3, 3, 3})}, Precision::exact);
  ASSERT_TRUE(results) << format(results.errors());
  EXPECT_EQ((*results)[0].values(), (std::vector<double>{1, 2, 4, 5}));
  EXPECT_EQ((*results)[1].values(), (std::vector<double>{3, 6}));
  EXPECT_EQ((*results)[2].values(), (std::vector<double>{0, 1, 1, 1, 1, 2}));
  EXPECT_EQ((*results)[3].values(), (std::vector<double>{1, 0, 1, 1, 2, 0}));
}

TEST(ReferenceResults, WhatItDoesNotKnowIsAnError) {
  auto graph = parse_graph(
      "autoperfect.graph 1\n"
      "graph @g(%x: f32[2,4], %w: f32[4]) {\n"
      "  %y = rms_norm %x, %w eps=0.5 : f32[2,4]\n"
      "  return %y\n"
      "}\n");
  ASSERT_TRUE(graph) << format(graph.errors());
  auto results = run_reference(
      *graph, {Tensor::zeros({Dtype::f32, {2, 4}}), Tensor::zeros({Dtype::f32, {4}})}, Precision::exact);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.errors()[0].code, "unsupported-op");
}

}  // namespace
}  // namespace autoperfect

// Which way a program's values are computed: by kernels, by replaying what was captured, or by what
// canonicalization made of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "canonicalize/canonicalize.h"
#include "capture/capture.h"
#include "mlx/mlx.h"
#include "pipeline/steps.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using mx::array;
using Arrays = std::vector<array>;

struct Made {
  Captured captured;
  Canonical canonical;
  std::vector<ValueId> sources;

  explicit Made(const ArrayFunction& fn, const Arrays& arguments)
      : captured(capture(fn, arguments)),
        canonical(canonicalize(captured.graph)),
        sources(find_sources(canonical)) {}

  Steps steps(const std::vector<KernelChoice>& kernels) const {
    std::vector<ValueId> given;
    for (const auto& input : captured.graph.inputs)
      given.push_back(canonical.value_of_source[input.value]);
    auto made = make_steps(captured, canonical, sources, kernels, given, canonical.graph.outputs);
    if (!made) throw std::runtime_error(format(made.errors()));
    return *made;
  }

  // The nodes whose op is one of these, and the results of the last of them, as a region.
  Region region(const std::vector<Op>& ops) const {
    Region region;
    const Graph& graph = canonical.graph;
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      if (std::count(ops.begin(), ops.end(), graph.nodes[n].op))
        region.nodes.push_back(static_cast<NodeId>(n));
    region.outputs = graph.nodes[region.nodes.back()].results;
    for (const auto& input : graph.inputs)
      region.inputs.push_back(input.value);
    return region;
  }
};

int count(const Steps& steps, Step::Kind kind) {
  return static_cast<int>(
      std::count_if(steps.steps.begin(), steps.steps.end(), [&](const Step& s) { return s.kind == kind; }));
}

array normal(mx::Shape shape) {
  return mx::random::normal(std::move(shape), mx::random::key(1));
}

TEST(Steps, AScalarThatAKernelMakesInAnotherShapeIsNotComputedAgain) {
  // The norm of everything is [] in the program and [1,1] in the kernel.
  Made made(
      [](const Arrays& a) {
        auto norm = mx::sqrt(mx::sum(mx::square(a[0])));
        return Arrays{mx::multiply(a[0], mx::minimum(norm, array(1.0f)))};
      },
      {normal({8, 16})});
  Region region = made.region({Op::square, Op::sum, Op::sqrt, Op::minimum});
  auto steps = made.steps({{&region, nullptr}});
  EXPECT_EQ(count(steps, Step::Kind::kernel), 1);
  EXPECT_EQ(steps.steps.size(), 2u) << "the kernel and the product";
}

TEST(Steps, WithoutAKernelTheValuesAreThoseOfTheProgram) {
  auto fn = [](const Arrays& a) {
    auto norm = mx::sqrt(mx::sum(mx::square(a[0])));
    auto turned = mx::reshape(mx::exp(mx::reshape(a[0], {16, 8})), {8, 16});
    return Arrays{mx::multiply(turned, norm), mx::softmax(mx::transpose(turned), -1)};
  };
  Arrays arguments{normal({8, 16})};
  Made made(fn, arguments);
  auto steps = made.steps({});
  auto stream = mx::default_stream(mx::default_device());
  auto ours = run_steps(steps, made.captured, made.canonical.graph, arguments, stream);
  auto theirs = fn(arguments);
  for (size_t i = 0; i < theirs.size(); ++i)
    EXPECT_TRUE(mx::array_equal(ours[i], theirs[i]).item<bool>()) << i;
}

TEST(Steps, WhatMlxKeepsWholeIsReplayedWhole) {
  Made made([](const Arrays& a) { return Arrays{mx::softmax(a[0], -1)}; }, {normal({8, 16})});
  auto steps = made.steps({});
  ASSERT_EQ(steps.steps.size(), 1u);
  EXPECT_EQ(steps.steps[0].kind, Step::Kind::replay);
}

TEST(Steps, ViewsOnTheWayAreReplayed) {
  Made made(
      [](const Arrays& a) { return Arrays{mx::softmax(mx::transpose(mx::square(a[0])), -1)}; },
      {normal({8, 16})});
  Region region = made.region({Op::square});
  auto steps = made.steps({{&region, nullptr}});
  EXPECT_EQ(count(steps, Step::Kind::kernel), 1);
  EXPECT_EQ(count(steps, Step::Kind::replay) + count(steps, Step::Kind::apply), 2);
}

}  // namespace
}  // namespace autoperfect

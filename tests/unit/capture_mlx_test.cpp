// What capture makes of data, constants, files, transformations and errors.
#include "capture_agreement.h"

namespace autoperfect {
namespace {

TEST(Capture, SmallConstantsAreNodesAndDataIsCaptured) {
  auto w = sample({16}, mx::float32, 1, 4);
  auto scale = array(0.125f);
  ArrayFunction fn = [=](const Arrays& in) {
    return Arrays{in[0] * w * scale + mx::broadcast_to(array(2.0f), {3, 16})};
  };
  auto captured = capture(fn, {sample({3, 16})});
  ASSERT_EQ(captured.constants.size(), 1u);
  EXPECT_EQ(captured.constants[0].id(), w.id());
  ASSERT_EQ(captured.graph.inputs.size(), 2u);
  EXPECT_EQ(captured.graph.inputs[1].captured_hash.size(), 32u);
  auto text = print(captured.graph);
  EXPECT_NE(text.find("const 0.125 : f32[]"), std::string::npos) << text;
  EXPECT_NE(text.find("const 2.0 : f32[]"), std::string::npos) << text;
  auto other =
      capture([=](const Arrays& in) { return Arrays{in[0] * (w + array(1.0f))}; }, {sample({3, 16})});
  EXPECT_NE(other.graph.inputs[1].captured_hash, captured.graph.inputs[1].captured_hash);
}

TEST(Capture, HashesDependOnElementsNotOnLayout) {
  auto w = sample({4, 6});
  auto columns = mx::contiguous(mx::transpose(w));
  auto view = mx::transpose(columns);
  mx::eval(columns, view);
  auto hash = [](const array& data) {
    return capture([=](const Arrays& in) { return Arrays{in[0] + data}; }, {data})
        .graph.inputs[1]
        .captured_hash;
  };
  EXPECT_EQ(hash(w), hash(view));
}

TEST(Capture, EvaluatingDataLeavesTheProgramWhole) {
  // The view of `positions` is a node of the program, and what the data is computed from.
  ArrayFunction fn = [](const Arrays& in) {
    auto positions = mx::expand_dims(mx::arange(6.0), 0);
    return Arrays{in[0] + positions + mx::sin(positions)};
  };
  check({"shared by data and program", fn, {sample({3, 6})}});
}

TEST(Capture, UnusedArgumentsStay) {
  auto captured = capture(
      [](const Arrays& in) { return Arrays{mx::exp(in[1])}; }, {sample({2}), sample({3}), sample({4})});
  ASSERT_EQ(captured.graph.inputs.size(), 3u);
  EXPECT_EQ(captured.graph.type(captured.graph.inputs[2].value).shape, Shape{4});
}

TEST(Capture, DeepProgramsDoNotRecurse) {
  ArrayFunction fn = [](const Arrays& in) {
    auto x = in[0];
    for (int i = 0; i < 50000; ++i)
      x = mx::sin(x);
    return Arrays{x};
  };
  EXPECT_EQ(capture(fn, {array(1.0f)}).graph.nodes.size(), 50000u);
}

TEST(Capture, EvaluationInsideIsMlxsOwnError) {
  ArrayFunction fn = [](const Arrays& in) { return Arrays{in[0] + array(mx::sum(in[0]).item<float>())}; };
  EXPECT_THROW(capture(fn, {sample({3})}), std::invalid_argument);
  EXPECT_THROW(
      capture([](const Arrays&) -> Arrays { throw std::out_of_range("mine"); }, {}), std::out_of_range);
}

TEST(Capture, ArraysOfAnOuterTransformationAreReported) {
  bool inner_uses = false, plain_uses = true;
  auto outer = [&](const array& w) {
    inner_uses = capture([&](const Arrays& in) { return Arrays{in[0] * w}; }, {array(2.0f)}).uses_tracers;
    plain_uses =
        capture([&](const Arrays& in) { return Arrays{mx::exp(in[0])}; }, {array(2.0f)}).uses_tracers;
    return mx::sum(w);
  };
  mx::grad(outer)(sample({3}));
  EXPECT_TRUE(inner_uses);
  EXPECT_FALSE(plain_uses);
}

TEST(Capture, GradientsOfCapturedArraysAreOurOwn) {
  auto w = sample({16});
  ArrayFunction fn = [=](const Arrays& in) {
    auto loss = [&](const array& v) { return mx::sum(mx::square(v * in[0])); };
    return Arrays{mx::grad(loss)(w)};
  };
  auto captured = capture(fn, {sample({16}, mx::float32, 1, 9)});
  EXPECT_FALSE(captured.uses_tracers);
  check({"gradient of a captured array", fn, {sample({16}, mx::float32, 1, 9)}});
}

TEST(Capture, File) {
  auto w = sample({16, 4});
  std::string path = testing::TempDir() + "/capture_test.mlxfn";
  ArrayFunction fn = [=](const Arrays& in) {
    return Arrays{mx::softmax(mx::matmul(in[0], w) * array(0.5f), -1)};
  };
  auto x = sample({3, 16}, mx::float32, 1, 5);
  mx::export_function(path, std::function<Arrays(const mx::Args&)>(fn), {x});
  auto captured = capture_file(path, {x});
  EXPECT_EQ(captured.constants.size(), 1u);
  auto outputs = run_nodes(captured, {x}, [&](NodeId id, const Node&, const Arrays& operands) {
    return replay(captured, id, operands);
  });
  expect_same_bits(outputs[0], fn({x})[0], "imported");
}

TEST(Interpret, RunsAGraphFromText) {
  auto graph = parse_graph(
      "autoperfect.graph 1\n"
      "graph @g(%x: f32[2,3]) {\n"
      "  %m = mean %x axes=[1] keepdims=true : f32[2,1]\n"
      "  %d = sub %x, %m : f32[2,3]\n"
      "  %h = const 0.5 : f32[]\n"
      "  %y = mul %d, %h : f32[2,3]\n"
      "  return %y\n"
      "}\n");
  ASSERT_TRUE(graph.ok()) << format(graph.errors());
  auto x = array({1.0f, 2.0f, 3.0f, 5.0f, 5.0f, 8.0f}, {2, 3});
  expect_same_bits(interpret(*graph, {x})[0], array({-0.5f, 0.0f, 0.5f, -0.5f, -0.5f, 1.0f}, {2, 3}), "text");
}

}  // namespace
}  // namespace autoperfect

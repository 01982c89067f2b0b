// Functions of mx.fast that MLX keeps whole on a GPU have the canonical text that tracing the same call gives
// on the CPU, where MLX decomposes them.
#include <gtest/gtest.h>

#include <limits>

#include "canonicalize/canonicalize.h"
#include "capture_agreement.h"
#include "mlx/fast.h"

namespace autoperfect {
namespace {

Graph as_whole(
    const Arrays& arguments, const std::function<ValueId(Graph&, const std::vector<ValueId>&)>& write) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (const auto& a : arguments)
    inputs.push_back(graph.add_input("x", {from_mlx(a.dtype()), Shape(a.shape().begin(), a.shape().end())}));
  graph.outputs = {write(graph, inputs)};
  return graph;
}

// One node with the type that MLX gives its result.
ValueId add_whole(
    Graph& graph, Op op, std::vector<ValueId> operands, Attributes attributes, const array& result) {
  const TensorType type{from_mlx(result.dtype()), Shape(result.shape().begin(), result.shape().end())};
  return graph.nodes[graph.add_node(op, std::move(operands), {type}, std::move(attributes))].results[0];
}

ValueId add_cast(Graph& graph, ValueId v, Dtype dtype) {
  Attributes attributes;
  attributes.set("dtype", dtype);
  return graph.add(Op::cast, {v}, attributes);
}

Attributes attributes_of(std::initializer_list<std::pair<const char*, AttributeValue>> entries) {
  Attributes attributes;
  for (const auto& [name, value] : entries)
    attributes.set(name, value);
  return attributes;
}

std::string text_of(const Graph& graph) {
  return print(canonicalize(graph).graph, Names::canonical);
}

// The trace of `fn` against a graph that has `op` on the arguments and `rest`.
struct Whole {
  const char* name;
  ArrayFunction fn;
  Arrays arguments;
  Op op;
  Attributes attributes;
  std::vector<double> missing = {};  // scalars in the place of operands the caller left out
};

void expect_one_text(const Whole& call) {
  SCOPED_TRACE(call.name);
  const auto captured = capture(call.fn, call.arguments);
  const auto eager = call.fn(call.arguments);
  const Graph whole = as_whole(call.arguments, [&](Graph& graph, std::vector<ValueId> operands) {
    for (double value : call.missing)
      operands.push_back(graph.add_constant(value, from_mlx(eager[0].dtype())));
    return add_whole(graph, call.op, std::move(operands), call.attributes, eager[0]);
  });
  EXPECT_EQ(text_of(whole), text_of(captured.graph));
  const Graph lowered = canonicalize(whole).graph;
  EXPECT_EQ(print(lowered).find("= " + std::string(name(call.op))), std::string::npos) << print(lowered);
}

TEST(CanonicalizeLibrary, Norms) {
  const array x = sample({2, 5, 16}), w = sample({16}), b = sample({16}, mx::float32, 1, 3);
  const array half = sample({2, 5, 16}, mx::bfloat16), half_w = sample({16}, mx::bfloat16);
  const auto eps = attributes_of({{"eps", double{1e-5f}}});
  auto rms = [](const Arrays& in) {
    return Arrays{mx::fast::rms_norm(in[0], in.size() > 1 ? std::optional(in[1]) : std::nullopt, 1e-5f)};
  };
  auto layer = [](const Arrays& in) {
    return Arrays{mx::fast::layer_norm(
        in[0],
        in.size() > 1 ? std::optional(in[1]) : std::nullopt,
        in.size() > 2 ? std::optional(in[2]) : std::nullopt,
        1e-5f)};
  };
  expect_one_text({"rms", rms, {x, w}, Op::rms_norm, eps});
  expect_one_text({"rms without weight", rms, {x}, Op::rms_norm, eps, {1}});
  expect_one_text({"rms of bf16", rms, {half, half_w}, Op::rms_norm, eps});
  expect_one_text({"rms of bf16 without weight", rms, {half}, Op::rms_norm, eps, {1}});
  expect_one_text({"layer", layer, {x, w, b}, Op::layer_norm, eps});
  expect_one_text({"layer without bias", layer, {x, w}, Op::layer_norm, eps, {0}});
  expect_one_text({"layer without both", layer, {x}, Op::layer_norm, eps, {1, 0}});
  expect_one_text({"layer of bf16", layer, {half, half_w, half_w}, Op::layer_norm, eps});
}

// On a GPU the operands are converted before the call.
TEST(CanonicalizeLibrary, NormsOfSeveralDtypes) {
  const Arrays arguments{sample({4, 16}, mx::bfloat16), sample({16})};
  auto rms = [](const Arrays& in) { return Arrays{mx::fast::rms_norm(in[0], in[1], 1e-5f)}; };
  const auto captured = capture(rms, arguments);
  const Graph whole = as_whole(arguments, [&](Graph& graph, const std::vector<ValueId>& in) {
    const ValueId x = add_cast(graph, in[0], Dtype::f32);
    return add_whole(
        graph, Op::rms_norm, {x, in[1]}, attributes_of({{"eps", double{1e-5f}}}), rms(arguments)[0]);
  });
  EXPECT_EQ(text_of(whole), text_of(captured.graph));
}

TEST(CanonicalizeLibrary, CrossEntropy) {
  auto loss = [](const Arrays& in) { return Arrays{mx::fast::cross_entropy(in[0], in[1])}; };
  const array targets({1, 0, 6}, {3}, mx::int32);
  expect_one_text({"f32", loss, {sample({3, 7}), targets}, Op::cross_entropy, {}});
  expect_one_text({"bf16", loss, {sample({3, 7}, mx::bfloat16), targets}, Op::cross_entropy, {}});
  const array pairs = mx::broadcast_to(mx::expand_dims(targets, 0), {2, 3});
  expect_one_text({"rank 3", loss, {sample({2, 3, 7}), pairs}, Op::cross_entropy, {}});
}

TEST(CanonicalizeLibrary, Rope) {
  struct Variant {
    mx::Shape shape;
    int dims;
    bool traditional, has_frequencies;
    int offsets;  // 0: one for all
    mx::Dtype dtype;
  };
  const Variant variants[] = {
      {{2, 3, 5, 16}, 16, false, false, 0, mx::float32},
      {{2, 3, 5, 16}, 8, false, false, 2, mx::bfloat16},
      {{2, 3, 5, 16}, 16, true, false, 2, mx::float32},
      {{2, 3, 5, 16}, 8, true, true, 0, mx::float16},
      {{2, 5, 16}, 16, false, true, 0, mx::float32},
      {{2, 3, 2, 5, 8}, 8, false, false, 0, mx::float32},
      {{1, 3, 1, 8}, 8, false, false, 1, mx::float32},
  };
  for (const auto& v : variants) {
    Arrays arguments{sample(v.shape, v.dtype)};
    arguments.push_back(v.offsets == 0 ? array(3) : mx::full({v.offsets}, 4, mx::int32));
    if (v.has_frequencies) arguments.push_back(mx::abs(sample({v.dims / 2})));
    auto rope = [v](const Arrays& in) {
      auto frequencies = v.has_frequencies ? std::optional(in[2]) : std::nullopt;
      auto base = v.has_frequencies ? std::nullopt : std::optional(10000.0f);
      return Arrays{mx::fast::rope(in[0], v.dims, v.traditional, base, 0.5f, in[1], frequencies)};
    };
    auto attributes = attributes_of({{"dims", int64_t{v.dims}}, {"scale", 0.5}});
    if (v.traditional) attributes.set("traditional", true);
    if (!v.has_frequencies) attributes.set("base", 10000.0);
    expect_one_text({"rope", rope, arguments, Op::rope, attributes});
  }
}

TEST(CanonicalizeLibrary, Attention) {
  struct Variant {
    int heads, shared, queries, keys;
    const char* mode;
    std::optional<mx::Dtype> mask;
    bool has_sinks;
    mx::Dtype dtype;
  };
  const Variant variants[] = {
      {4, 4, 6, 6, "", std::nullopt, false, mx::float32},
      {4, 2, 6, 6, "", std::nullopt, false, mx::float32},
      {4, 4, 6, 9, "causal", std::nullopt, false, mx::float32},
      {4, 2, 6, 9, "causal", std::nullopt, false, mx::bfloat16},
      {4, 4, 6, 6, "", mx::bool_, false, mx::float32},
      {4, 2, 6, 6, "", mx::bool_, false, mx::float16},
      {4, 4, 6, 6, "", mx::float32, false, mx::float32},
      {4, 1, 6, 6, "", mx::float32, false, mx::float32},
      {4, 4, 6, 6, "", std::nullopt, true, mx::float32},
      {4, 2, 1, 6, "causal", std::nullopt, true, mx::float32},
  };
  for (const auto& v : variants) {
    Arrays arguments{
        sample({2, v.heads, v.queries, 8}, v.dtype),
        sample({2, v.shared, v.keys, 8}, v.dtype, 1, 2),
        sample({2, v.shared, v.keys, 5}, v.dtype, 1, 3)};
    if (v.mask) arguments.push_back(sample({v.queries, v.keys}, *v.mask, 1, 4));
    if (v.has_sinks) arguments.push_back(sample({v.heads}, v.dtype, 1, 5));
    auto attention = [v](const Arrays& in) {
      auto mask = v.mask ? std::optional(in[3]) : std::nullopt;
      auto sinks = v.has_sinks ? std::optional(in.back()) : std::nullopt;
      return Arrays{mx::fast::scaled_dot_product_attention(in[0], in[1], in[2], 0.25f, v.mode, mask, sinks)};
    };
    auto attributes = attributes_of({{"scale", 0.25}});
    if (std::string(v.mode) == "causal") attributes.set("causal", true);
    if (v.has_sinks) attributes.set("sinks", true);
    expect_one_text({"attention", attention, arguments, Op::scaled_dot_product_attention, attributes});
  }
}

// Gradients: the trace of what MLX differentiates its own decomposition to, against the nodes that it keeps
// whole on a GPU. The last argument is the cotangent.
struct Gradient {
  const char* name;
  ArrayFunction forward;
  Arrays arguments;
  Op op, vjp;
  Attributes attributes;
  std::vector<double> missing = {};  // scalars in the place of operands the caller left out
  Attributes forward_attributes = {};
  bool hands_results_on = false;     // the gradient also takes what the forward node gave
  std::vector<size_t> argnums = {};  // all of them unless given
};

std::vector<ValueId> add_whole(
    Graph& graph, Op op, std::vector<ValueId> operands, const Attributes& attributes) {
  std::vector<TensorType> types;
  for (auto v : operands)
    types.push_back(graph.type(v));
  auto results = infer_types(op, types, attributes);
  EXPECT_TRUE(results.ok()) << format(results.errors());
  return graph.nodes[graph.add_node(op, std::move(operands), *results, attributes)].results;
}

void expect_one_gradient(Gradient call) {
  SCOPED_TRACE(call.name);
  const size_t primals = call.arguments.size() - 1;
  if (call.argnums.empty()) {
    for (size_t i = 0; i < primals; ++i)
      call.argnums.push_back(i);
  }
  auto both = [&](const Arrays& in) {
    auto chosen = [&](const Arrays& some) {
      Arrays all(in.begin(), in.end() - 1);
      for (size_t k = 0; k < some.size(); ++k)
        all[call.argnums[k]] = some[k];
      return call.forward(all);
    };
    Arrays some;
    for (auto i : call.argnums)
      some.push_back(in[i]);
    auto [out, gradients] = mx::vjp(chosen, some, {in.back()});
    out.insert(out.end(), gradients.begin(), gradients.end());
    return out;
  };
  Graph whole;
  std::vector<ValueId> operands;
  for (const auto& a : call.arguments)
    operands.push_back(
        whole.add_input("x", {from_mlx(a.dtype()), Shape(a.shape().begin(), a.shape().end())}));
  const ValueId cotangent = operands.back();
  operands.pop_back();
  for (double value : call.missing)
    operands.push_back(whole.add_constant(value, from_mlx(call.arguments[0].dtype())));
  Attributes forward = call.attributes;
  for (const auto& [name, value] : call.forward_attributes)
    forward.set(name, value);
  const auto results = add_whole(whole, call.op, operands, forward);
  if (call.hands_results_on) operands.insert(operands.end(), results.begin(), results.end());
  operands.push_back(cotangent);
  const auto gradients = add_whole(whole, call.vjp, operands, call.attributes);
  whole.outputs = {results[0]};
  for (auto i : call.argnums)
    whole.outputs.push_back(gradients[i]);
  EXPECT_EQ(text_of(whole), text_of(capture(both, call.arguments).graph));
  const std::string lowered = print(canonicalize(whole).graph);
  EXPECT_EQ(lowered.find("= " + std::string(name(call.vjp))), std::string::npos) << lowered;
}

TEST(CanonicalizeLibrary, GradientsOfNorms) {
  const auto eps = attributes_of({{"eps", double{1e-5f}}});
  auto rms = [](const Arrays& in) {
    return Arrays{mx::fast::rms_norm(in[0], in.size() > 1 ? std::optional(in[1]) : std::nullopt, 1e-5f)};
  };
  auto layer = [](const Arrays& in) {
    auto given = [&](size_t i) { return in.size() > i ? std::optional(in[i]) : std::nullopt; };
    return Arrays{mx::fast::layer_norm(in[0], given(1), given(2), 1e-5f)};
  };
  for (auto dtype : {mx::float32, mx::bfloat16, mx::float16}) {
    for (const auto& shape : {mx::Shape{2, 5, 16}, {1, 5, 16}, {3, 16}, {16}, {1, 1, 16}}) {
      SCOPED_TRACE(std::string(name(from_mlx(dtype))) + " of rank " + std::to_string(shape.size()));
      const array x = sample(shape, dtype), g = sample(shape, dtype, 1, 2);
      const array w = sample({16}, dtype, 1, 3), b = sample({16}, dtype, 1, 4);
      auto of_rms =
          [&](const Arrays& arguments, std::vector<double> missing, std::vector<size_t> argnums = {}) {
            expect_one_gradient(
                {"rms",
                 rms,
                 arguments,
                 Op::rms_norm,
                 Op::rms_norm_vjp,
                 eps,
                 std::move(missing),
                 {},
                 false,
                 std::move(argnums)});
          };
      auto of_layer =
          [&](const Arrays& arguments, std::vector<double> missing, std::vector<size_t> argnums = {}) {
            expect_one_gradient(
                {"layer",
                 layer,
                 arguments,
                 Op::layer_norm,
                 Op::layer_norm_vjp,
                 eps,
                 std::move(missing),
                 {},
                 false,
                 std::move(argnums)});
          };
      of_rms({x, w, g}, {});
      of_rms({x, w, g}, {}, {0});
      of_rms({x, w, g}, {}, {1});
      of_rms({x, g}, {1});
      of_layer({x, w, b, g}, {});
      of_layer({x, w, b, g}, {}, {1, 2});
      of_layer({x, w, b, g}, {}, {0, 2});
      of_layer({x, w, g}, {0});
      of_layer({x, g}, {1, 0});
    }
  }
}

TEST(CanonicalizeLibrary, GradientsOfCrossEntropy) {
  for (auto dtype : {mx::float32, mx::bfloat16, mx::float16}) {
    for (const auto& shape : {mx::Shape{3}, {2, 3}, {1, 1}}) {
      SCOPED_TRACE(std::string(name(from_mlx(dtype))) + " of rank " + std::to_string(shape.size()));
      mx::Shape of_logits = shape;
      of_logits.push_back(7);
      const array targets = mx::full(shape, 4, mx::int32);
      auto loss = [](const Arrays& in) { return Arrays{mx::fast::cross_entropy(in[0], in[1])}; };
      expect_one_gradient(
          {"cross_entropy",
           loss,
           {sample(of_logits, dtype), targets, sample(shape, mx::float32, 1, 2)},
           Op::cross_entropy,
           Op::cross_entropy_vjp,
           {},
           {},
           {},
           true,
           {0}});
    }
  }
}

TEST(CanonicalizeLibrary, GradientsOfAttention) {
  struct Variant {
    int heads, shared, queries, keys;
    const char* mode;
    std::optional<mx::Dtype> mask;
    bool has_sinks;
  };
  const Variant variants[] = {
      {4, 4, 6, 6, "", std::nullopt, false},
      {4, 2, 6, 9, "", std::nullopt, false},
      {4, 1, 6, 9, "causal", std::nullopt, false},
      {4, 4, 6, 9, "causal", std::nullopt, false},
      {4, 2, 6, 9, "", mx::bool_, false},
      {4, 4, 6, 9, "", mx::bool_, false},
      {4, 2, 6, 9, "", mx::float32, false},
      {4, 4, 6, 6, "", std::nullopt, true},
      {4, 2, 6, 6, "causal", std::nullopt, true},
  };
  for (auto dtype : {mx::float32, mx::bfloat16, mx::float16}) {
    for (const auto& v : variants) {
      Arrays arguments{
          sample({2, v.heads, v.queries, 8}, dtype),
          sample({2, v.shared, v.keys, 8}, dtype, 1, 2),
          sample({2, v.shared, v.keys, 5}, dtype, 1, 3)};
      if (v.mask) {
        const auto mask_dtype = *v.mask == mx::bool_ ? mx::bool_ : dtype;
        arguments.push_back(sample({2, v.heads, v.queries, v.keys}, mask_dtype, 1, 4));
      }
      if (v.has_sinks) arguments.push_back(sample({v.heads}, dtype, 1, 5));
      arguments.push_back(sample({2, v.heads, v.queries, 5}, dtype, 1, 6));
      auto attention = [v](const Arrays& in) {
        auto mask = v.mask ? std::optional(in[3]) : std::nullopt;
        auto sinks = v.has_sinks ? std::optional(in.back()) : std::nullopt;
        return Arrays{
            mx::fast::scaled_dot_product_attention(in[0], in[1], in[2], 0.25f, v.mode, mask, sinks)};
      };
      auto attributes = attributes_of({{"scale", 0.25}});
      if (std::string(v.mode) == "causal") attributes.set("causal", true);
      if (v.has_sinks) attributes.set("sinks", true);
      SCOPED_TRACE(std::to_string(&v - variants));
      expect_one_gradient(
          {"attention",
           attention,
           arguments,
           Op::scaled_dot_product_attention,
           Op::scaled_dot_product_attention_vjp,
           attributes,
           {},
           attributes_of({{"logsumexp", true}}),
           true,
           {0, 1, 2}});
    }
  }
}

// A boolean mask that became numbers on the way is that boolean again.
TEST(CanonicalizeLibrary, AttentionWithABooleanMaskInNumbers) {
  const Arrays arguments{
      sample({2, 4, 6, 8}), sample({2, 2, 9, 8}), sample({2, 2, 9, 5}), sample({6, 9}, mx::bool_)};
  auto attention = [](const Arrays& in) {
    return Arrays{mx::fast::scaled_dot_product_attention(in[0], in[1], in[2], 0.25f, "", in[3])};
  };
  auto numbers = [](const Arrays& in) {
    auto lowest = -std::numeric_limits<float>::infinity();
    auto mask = mx::broadcast_to(in[3], {2, 4, 6, 9});
    mask = mx::where(mask, mx::full_like(mask, 0, mx::float32), mx::full_like(mask, lowest, mx::float32));
    return Arrays{in[0], in[1], in[2], mask};
  };
  Graph whole = capture(numbers, arguments).graph;
  auto attributes = attributes_of({{"of_bool", true}, {"scale", 0.25}});
  whole.outputs = add_whole(whole, Op::scaled_dot_product_attention, whole.outputs, attributes);
  EXPECT_EQ(text_of(whole), text_of(capture(attention, arguments).graph));
}

}  // namespace
}  // namespace autoperfect

// The normal form of a library function against MLX eager, and against the graph it was made of: interpreted
// by MLX it agrees up to rounding, run by the reference it is the same bit for bit.
#include <gtest/gtest.h>

#include <cmath>

#include "canonicalize/canonicalize.h"
#include "capture_agreement.h"
#include "mlx/fast.h"
#include "pipeline/region_runner.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

array scalar(double value, const array& like) {
  return array(static_cast<float>(value), like.dtype());
}

array gelu_tanh(const array& x) {
  const array inner = scalar(std::sqrt(2 / M_PI), x) * (x + scalar(0.044715, x) * mx::power(x, scalar(3, x)));
  return scalar(0.5, x) * x * (scalar(1, x) + mx::tanh(inner));
}

array group_norm(const array& x) {
  const array groups = mx::reshape(x, {x.shape(0), 4, -1});
  const array mean = mx::mean(groups, -1, true), var = mx::var(groups, -1, true);
  return mx::reshape((groups - mean) * mx::rsqrt(var + scalar(1e-5, x)), x.shape());
}

array cross_entropy(const array& logits, const array& targets, float smoothing) {
  const array score = mx::squeeze(mx::take_along_axis(logits, mx::expand_dims(targets, -1), -1), -1);
  const array total = mx::logsumexp(logits, -1);
  if (smoothing == 0) return total - score;
  const array smooth = mx::mean(logits, -1) * scalar(smoothing, logits);
  return total - (scalar(1 - smoothing, logits) * score + smooth);
}

struct Form {
  const char* name;
  std::function<array(const array& x, const array& w)> write;
};

const Form forms[] = {
    {"softmax", [](const array& x, const array&) { return mx::softmax(x, -1); }},
    {"softmax of another axis", [](const array& x, const array&) { return mx::softmax(x, 0); }},
    {"precise softmax", [](const array& x, const array&) { return mx::softmax(x, -1, true); }},
    {"log_softmax", [](const array& x, const array&) { return x - mx::logsumexp(x, -1, true); }},
    {"logsumexp", [](const array& x, const array&) { return mx::logsumexp(x, -1); }},
    {"mean",
     [](const array& x, const array&) {
       return mx::mean(x, std::vector<int>{0, 1});
     }},
    {"var", [](const array& x, const array&) { return mx::var(x, -1, false, 1); }},
    {"std", [](const array& x, const array&) { return mx::std(x, 0); }},
    {"rms_norm", [](const array& x, const array& w) { return mx::fast::rms_norm(x, w, 1e-5f); }},
    {"layer_norm", [](const array& x, const array& w) { return mx::fast::layer_norm(x, w, w, 1e-5f); }},
    {"group_norm", [](const array& x, const array&) { return group_norm(x); }},
    {"cross_entropy", [](const array& x, const array&) { return cross_entropy(x, mx::argmin(x, -1), 0); }},
    {"cross_entropy with smoothing",
     [](const array& x, const array&) { return cross_entropy(x, mx::argmin(x, -1), 0.1f); }},
    {"fast cross_entropy",
     [](const array& x, const array&) { return mx::fast::cross_entropy(x, mx::argmin(x, -1)); }},
    {"softplus", [](const array& x, const array&) { return mx::logaddexp(x, scalar(0, x)); }},
    {"gelu",
     [](const array& x, const array&) {
       return x * (scalar(1, x) + mx::erf(x / scalar(std::sqrt(2), x))) / scalar(2, x);
     }},
    {"gelu by tanh", [](const array& x, const array&) { return gelu_tanh(x); }},
    {"gelu by sigmoid", [](const array& x, const array&) { return x * mx::sigmoid(scalar(1.702, x) * x); }},
    {"silu", [](const array& x, const array&) { return x * mx::sigmoid(x); }},
    {"mish", [](const array& x, const array&) { return x * mx::tanh(mx::logaddexp(x, scalar(0, x))); }},
    {"rope",
     [](const array& x, const array&) {
       return mx::fast::rope(mx::reshape(x, {1, 2, 3, -1}), 8, false, 10000.0f, 1.0f, 5);
     }},
    {"attention",
     [](const array& x, const array& w) {
       const array q = mx::reshape(x, {1, 2, 3, -1}), k = q * w;
       return mx::fast::scaled_dot_product_attention(q, k, q, 0.25f, "causal");
     }},
};

// In units of the largest element: roundings are those of the dtype, sums are in another order.
double distance(const array& a, const array& b) {
  const array wide_a = mx::astype(a, mx::float32), wide_b = mx::astype(b, mx::float32);
  const array scale = mx::maximum(mx::max(mx::abs(wide_b)), array(1e-6f));
  return mx::max(mx::abs(wide_a - wide_b) / scale).item<float>();
}

// In the order of the inputs of the canonical graph, which may be another.
template <class T>
std::vector<T> in_order(const Canonical& canonical, const Graph& source, const std::vector<T>& given) {
  std::vector<T> ordered;
  for (const auto& input : canonical.graph.inputs) {
    for (size_t i = 0; i < source.inputs.size(); ++i)
      if (canonical.value_of_source[source.inputs[i].value] == input.value) ordered.push_back(given[i]);
  }
  return ordered;
}

void expect_the_same_numbers(const Form& form, mx::Dtype dtype) {
  const Arrays arguments{sample({2, 3, 16}, dtype, 2), sample({16}, dtype, 1, 2)};
  const ArrayFunction fn = [&](const Arrays& in) { return Arrays{form.write(in[0], in[1])}; };
  const auto captured = capture(fn, arguments);
  const Canonical canonical = canonicalize(captured.graph);
  SCOPED_TRACE(std::string(form.name) + "\n" + print(canonical.graph));
  EXPECT_TRUE(verify(canonical.graph).empty());

  Arrays given = arguments;
  given.insert(given.end(), captured.constants.begin(), captured.constants.end());
  const array eager = fn(arguments)[0];
  const array interpreted = interpret(canonical.graph, in_order(canonical, captured.graph, given))[0];
  ASSERT_EQ(interpreted.dtype(), eager.dtype());
  ASSERT_EQ(interpreted.shape(), eager.shape());
  const double unit = dtype == mx::float32 ? 1e-6 : dtype == mx::float16 ? 1e-3 : 8e-3;
  EXPECT_LT(distance(interpreted, eager), 4 * unit);

  std::vector<Tensor> tensors;
  for (const auto& a : given)
    tensors.push_back(to_tensor(a));
  const auto before = run_reference(captured.graph, tensors, Precision::exact);
  const auto after =
      run_reference(canonical.graph, in_order(canonical, captured.graph, tensors), Precision::exact);
  ASSERT_TRUE(before.ok() && after.ok()) << (before.ok() ? "" : format(before.errors()));
  const Tensor &a = (*before)[0], &b = (*after)[0];
  for (int64_t i = 0; i < a.type.elements(); ++i) {
    if (!std::isnan(a.at(i)) || !std::isnan(b.at(i))) EXPECT_EQ(a.at(i), b.at(i)) << "element " << i;
  }
}

TEST(CanonicalizeNumbers, LibraryFunctions) {
  for (const auto& form : forms) {
    for (auto dtype : {mx::float32, mx::float16, mx::bfloat16})
      expect_the_same_numbers(form, dtype);
  }
}

}  // namespace
}  // namespace autoperfect

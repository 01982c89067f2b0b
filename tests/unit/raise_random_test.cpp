// Random kernels: their text reads back, and the graph that raise() gives computes the same as they do.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "random_kernel.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

std::vector<Tensor> random_inputs(const Kernel& kernel, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (const auto& buffer : kernel.buffers) {
    if (buffer.role != BufferRole::in) continue;
    Tensor tensor = Tensor::zeros(buffer.type);
    for (int64_t i = 0; i < buffer.type.elements(); ++i)
      tensor.set(
          i, static_cast<double>(random() % 1000) / (is_floating(buffer.type.dtype) ? 250.0 : 100.0) - 2);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Bits, but for the sign of a NaN.
void expect_equal(const Tensor& expected, const Tensor& actual) {
  ASSERT_EQ(expected.type, actual.type);
  for (int64_t i = 0; i < expected.type.elements(); ++i) {
    const double a = expected.at(i), b = actual.at(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    ASSERT_TRUE(a == b && std::signbit(a) == std::signbit(b))
        << "element " << i << ": " << a << ", raised " << b;
  }
}

TEST(RaiseRandom, AgreesWithTheKernel) {
  for (unsigned seed = 0; seed < 1500 && !HasFailure(); ++seed) {
    const std::string text = RandomKernel(seed).text();
    const auto kernel = parse_kernel(text);
    ASSERT_TRUE(kernel.ok()) << "seed " << seed << '\n' << format(kernel.errors(), text);
    const std::string printed = print(*kernel);
    const auto again = parse_kernel(printed);
    ASSERT_TRUE(again.ok()) << "seed " << seed << '\n' << format(again.errors(), printed);
    EXPECT_EQ(print(*again), printed);
    const Graph graph = raise(*kernel);
    SCOPED_TRACE(fmt::format("seed {}\n{}\n{}", seed, text, print(graph)));
    ASSERT_EQ(format(verify(graph)), "");
    const auto inputs = random_inputs(*kernel, seed);
    for (auto precision : {Precision::exact, Precision::oracle}) {
      const auto expected = run_reference(*kernel, inputs, precision);
      const auto actual = run_reference(graph, inputs, precision);
      ASSERT_TRUE(expected.ok()) << format(expected.errors());
      ASSERT_TRUE(actual.ok()) << format(actual.errors());
      for (size_t i = 0; i < expected->size(); ++i)
        expect_equal((*expected)[i], (*actual)[i]);
    }
  }
}

TEST(RaiseRandom, PythonReadsBack) {
  for (unsigned seed = 0; seed < 500 && !HasFailure(); ++seed) {
    const auto kernel = parse_kernel(RandomKernel(seed).text());
    ASSERT_TRUE(kernel.ok());
    const std::string text = to_mlx_python(raise(*kernel));
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    const auto graph = parse_mlx_python(text);
    ASSERT_TRUE(graph.ok()) << format(graph.errors(), text);
    EXPECT_EQ(to_mlx_python(*graph), text);
    const auto inputs = random_inputs(*kernel, seed);
    const auto expected = run_reference(*kernel, inputs, Precision::exact);
    const auto actual = run_reference(*graph, inputs, Precision::exact);
    ASSERT_TRUE(expected.ok() && actual.ok());
    for (size_t i = 0; i < expected->size(); ++i)
      expect_equal((*expected)[i], (*actual)[i]);
  }
}

}  // namespace
}  // namespace autoperfect

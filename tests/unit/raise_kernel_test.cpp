// A kernel and the graph that raise() gives for it compute the same bits, for every kind of index map.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

Kernel parsed(const std::string& text) {
  auto kernel = parse_kernel(text);
  if (!kernel) throw std::runtime_error(format(kernel.errors(), text));
  return *kernel;
}

std::string kernel_text(const std::string& abi, const std::string& math) {
  return "autoperfect.kernel 1\nkernel @k {\n  abi {\n" + abi + "  }\n  math {\n" + math +
         "  }\n  numerics {\n    accumulate f32\n    reassociate yes\n    budget ulp=4.0 abs=0.0 rel=0.0\n  "
         "}\n}\n";
}

std::vector<Tensor> random_inputs(const Kernel& kernel) {
  std::mt19937 random(7);
  std::vector<Tensor> inputs;
  for (const auto& buffer : kernel.buffers) {
    if (buffer.role != BufferRole::in) continue;
    Tensor tensor = Tensor::zeros(buffer.type);
    for (int64_t i = 0; i < buffer.type.elements(); ++i) {
      tensor.set(i, std::normal_distribution<double>(0, 20)(random));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Returns the graph, for a look at its text.
Graph expect_same(const std::string& abi, const std::string& math) {
  const Kernel kernel = parsed(kernel_text(abi, math));
  const Graph graph = raise(kernel);
  SCOPED_TRACE(print(graph));
  EXPECT_EQ(format(verify(graph)), "");
  size_t output = 0;
  for (const auto& buffer : kernel.buffers) {
    if (buffer.role == BufferRole::in) continue;
    EXPECT_EQ(graph.values[graph.outputs[output]].name, buffer.name);
    EXPECT_EQ(graph.type(graph.outputs[output++]), buffer.type);
  }
  const auto inputs = random_inputs(kernel);
  for (auto precision : {Precision::exact, Precision::oracle}) {
    auto expected = run_reference(kernel, inputs, precision);
    auto actual = run_reference(graph, inputs, precision);
    EXPECT_TRUE(expected.ok()) << (expected ? "" : format(expected.errors()));
    EXPECT_TRUE(actual.ok()) << (actual ? "" : format(actual.errors()));
    if (!expected || !actual) return graph;
    for (size_t i = 0; i < expected->size(); ++i)
      EXPECT_EQ((*expected)[i].bytes, (*actual)[i].bytes) << "output " << i;
  }
  return graph;
}

TEST(Raise, LayerNorm) {
  const Graph graph = expect_same(
      "    in %x: f32[4,8] row\n    in %w: f32[8] row\n    out %y: f32[4,8] row\n",
      "    axes i=4, j=8\n"
      "    %total[i] = sum(j) %x[i,j] : f32\n"
      "    %mean[i] = mul %total[i], 0.125 : f32\n"
      "    %diff[i,j] = sub %x[i,j], %mean[i] : f32\n"
      "    %y[i,j] = mul %diff[i,j], %w[j] : f32\n");
  EXPECT_EQ(
      print(graph),
      "autoperfect.graph 1\n"
      "graph @k(%x: f32[4,8], %w: f32[8]) {\n"
      "  %total = sum %x axes=[1] keepdims=true : f32[4,1]\n"
      "  %c = const 0.125 : f32[]\n"
      "  %mean = mul %total, %c : f32[4,1]\n"
      "  %diff = sub %x, %mean : f32[4,8]\n"
      "  %w_view = reshape %w : f32[1,8]\n"
      "  %y = mul %diff, %w_view : f32[4,8]\n"
      "  return %y\n"
      "}\n");
}

TEST(Raise, TransposedStridedReversedAndFixedLoads) {
  expect_same(
      "    in %x: bf16[6,9] row\n    in %t: bf16[4,3] row\n    out %y: bf16[3,4] row\n",
      "    axes i=3, j=4\n"
      "    %a[i,j] = add %x[2*i,2*j+1], %t[j,i] : bf16\n"
      "    %b[i,j] = mul %a[i,j], %x[5,-2*j+8] : bf16\n"
      "    %c[i] = exp %x[-1*i+2,3] : bf16\n"
      "    %y[i,j] = sub %b[i,j], %c[i] : bf16\n");
}

TEST(Raise, SplitsOneDimensionIntoSeveralAxes) {
  expect_same(
      "    in %x: f32[24] row\n    in %z: f32[50] row\n    out %y: f32[2,3,4] row\n",
      "    axes i=2, j=3, k=4\n"
      "    %y[i,j,k] = add %x[12*i+4*j+k], %z[8*j+2*k+1] : f32\n");
}

TEST(Raise, StoresFewerAxesInAnotherOrder) {
  expect_same(
      "    in %x: f16[2,3,4] row\n    out %m: u32[4,1,2] row\n    out %s: f16[8] row\n    out %all: f16[] "
      "row\n",
      "    axes i=2, j=3, k=4\n"
      "    %m[k,0,i] = argmax(j) %x[i,j,k] : u32\n"
      "    %s[4*i+k] = sum(j) %x[i,j,k] : f16\n"
      "    %all[] = max(i, j, k) %x[i,j,k] : f16\n");
}

TEST(Raise, IotaLiteralsAndValuesThatDoNotVary) {
  expect_same(
      "    in %x: bf16[3] row\n    out %y: bf16[3,600] row\n    out %ones: i64[600] row\n    out %n: bf16[3] "
      "row\n",
      "    axes i=3, j=600\n"
      "    %p[j] = mul iota j, 1.0 : bf16\n"
      "    %below[i,j] = less %x[i], %p[j] : bool\n"
      "    %y[i,j] = select %below[i,j], %p[j], -0.5 : bf16\n"
      "    %ones[j] = copy 1 : i64\n"
      "    %n[i] = sum(j) %x[i] : bf16\n");
}

TEST(Raise, ComparesAndCastsAndKeepsAttributes) {
  expect_same(
      "    in %x: f32[5] row\n    in %k: i32[5] row\n    out %y: bool[5] row\n    out %z: f32[5] row\n",
      "    axes i=5\n"
      "    %same[i] = equal %x[i], nan nan_equal=true : bool\n"
      "    %narrow[i] = cast %x[i] : i8\n"
      "    %y[i] = logical_or %same[i], false : bool\n"
      "    %wide[i] = cast %narrow[i] : i32\n"
      "    %rest[i] = remainder %wide[i], %k[i] : i32\n"
      "    %z[i] = cast %rest[i] : f32\n");
}

TEST(Raise, RefusesWhatIsNoView) {
  EXPECT_THROW(
      raise(parsed(kernel_text(
          "    in %x: f32[3,3] row\n    out %y: f32[3] row\n",
          "    axes i=3\n    %y[i] = exp %x[i,i] : f32\n"))),
      InternalError);
  EXPECT_THROW(
      raise(parsed(kernel_text(
          "    in %x: f32[8] row\n    out %y: f32[3,4] row\n",
          "    axes i=3, j=4\n    %y[i,j] = exp %x[i+j] : f32\n"))),
      InternalError);
}

}  // namespace
}  // namespace autoperfect

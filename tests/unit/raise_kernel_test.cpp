// A kernel and the graph that raise() gives for it compute the same bits, for every kind of index map.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "kernel_parts.h"
#include "lower/lower.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

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
  const Kernel kernel = parse_or_throw(kernel_text(abi, math));
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

TEST(Raise, ComputesIndicesThatAreNoView) {
  expect_same(
      "    in %x: f32[3,3] row\n    in %w: f32[8] row\n    out %y: f32[3] row\n    out %z: f32[3,4] row\n",
      "    axes i=3, j=4\n"
      "    %y[i] = exp %x[i,-i+2] : f32\n"
      "    %z[i,j] = copy %w[2*i-j+2] else 7.0 : f32\n");
}

TEST(Raise, GuardsPad) {
  const Graph graph = expect_same(
      "    in %x: f32[3,4] row\n    out %y: f32[3,8] row\n    out %z: f32[2,2] row\n    out %far: f32[3] "
      "row\n",
      "    axes i=3, j=8, k=2, l=2\n"
      "    %y[i,j] = copy %x[i,j-2] else 0.5 : f32\n"
      "    %z[k,l] = copy %x[3*k-1,-3*l+2] else -inf : f32\n"
      "    %far[i] = copy %x[i,1000000*i] else nan : f32\n");
  EXPECT_NE(print(graph).find("%x_padded = pad %x, %c axes=[1] high=[2] low=[2]"), std::string::npos)
      << print(graph);
}

const char* const table =
    "    in %x: f32[4,3] row\n    in %at: i32[5] row\n    in %b: u8[3] row\n    in %c: i64[5,3] row\n";

// 20 times a normal number: indices far outside on both sides, too.
TEST(Raise, GathersWrapAndClamp) {
  expect_same(
      std::string(table) +
          "    out %rows: f32[5,3] row\n    out %along: f32[5,3] row\n    out %two: f32[5,3] row\n"
          "    out %shifted: f32[5,3] row\n    out %one: f32[] row\n    out %columns: f32[4,5] row\n",
      "    axes n=4, i=5, j=3\n"
      "    %id[i] = copy %at[i] : i32\n    %bj[j] = copy %b[j] : u8\n    %cij[i,j] = copy %c[i,j] : i64\n"
      "    %first[] = copy %at[0] : i32\n"
      "    %rows[i,j] = copy %x[%id[i],j] : f32\n"
      "    %along[i,j] = copy %x[%cij[i,j],j] : f32\n"
      "    %two[i,j] = copy %x[%id[i],%bj[j]] : f32\n"
      "    %shifted[i,j] = add %x[%id[i],-2*j+3] else 0.5, 1.0 : f32\n"
      "    %one[] = copy %x[%first[],2] : f32\n"
      "    %columns[n,i] = copy %x[-n+3,%id[i]] : f32\n");
}

TEST(Raise, UnsignedIndicesOfSixtyFourBits) {
  const Kernel kernel = parse_or_throw(kernel_text(
      "    in %x: f32[3] row\n    in %at: u64[2] row\n    out %y: f32[2] row\n",
      "    axes i=2\n    %id[i] = copy %at[i] : u64\n    %y[i] = copy %x[%id[i]] : f32\n"));
  Tensor at = Tensor::zeros({Dtype::u64, {2}});
  at.set_integer(0, -1);
  const auto out =
      run_reference(raise(kernel), {Tensor::of({Dtype::f32, {3}}, {1, 2, 3}), at}, Precision::exact).value();
  EXPECT_EQ(out[0].values(), (std::vector<double>{3, 1}));
}

TEST(Raise, ContractionsAreMatmuls) {
  const Graph graph = expect_same(
      "    in %a: bf16[2,3,4] row\n    in %b: bf16[4,5] row\n    in %c: bf16[5,2,4] row\n    out %y: "
      "bf16[2,3,5] "
      "row\n    out %batched: bf16[5,2,3] row\n    out %both: bf16[5] row\n    out %dot: bf16[] row\n    out "
      "%ones: "
      "bf16[2,3] row\n",
      "    axes n=2, i=3, j=5, k=4\n"
      "    %y[n,i,j] = matmul(k) %a[n,i,k], %b[k,j] : bf16\n"
      "    %batched[j,n,i] = matmul(k) %a[n,i,k], %c[j,n,k] : bf16\n"
      "    %both[j] = matmul(n,k) %c[j,n,k], %a[n,1,k] : bf16\n"
      "    %dot[] = matmul(k) %a[0,0,k], %b[k,0] : bf16\n"
      "    %ones[n,i] = matmul(k) %a[n,i,k], 1.0 : bf16\n");
  EXPECT_NE(print(graph).find("matmul"), std::string::npos);
}

TEST(Raise, ContractionsOfFloatsRoundNoProduct) {
  expect_same(
      "    in %a: f32[6,50] row\n    in %b: f32[50,7] row\n    out %y: f32[6,7] row\n",
      "    axes i=6, j=7, k=50\n    %t[i,k] = mul %a[i,k], 0.1 : f32\n"
      "    %c[i,j] = matmul(k) %t[i,k], %b[k,j] : f32\n    %y[i,j] = exp %c[i,j] : f32\n");
}

TEST(Raise, Scans) {
  for (const char* op : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}) {
    expect_same(
        "    in %x: f16[3,4] row\n    in %w: f16[4] row\n    out %y: f16[3,4] row\n    out %z: f16[4,3] "
        "row\n",
        "    axes i=3, j=4\n    %y[i,j] = " + std::string(op) +
            "(j) %x[i,j] inclusive=false : f16\n    %z[j,i] = " + op + "(i) %w[j] reverse=true : f16\n");
  }
}

TEST(Raise, PartsAreConcatenated) {
  const Graph graph = expect_same(
      "    in %x: f32[3,2] row\n    in %w: f32[3] row\n    out %y: f32[3,5] row\n",
      "    axes i=3, j=2\n    %y[i,-j+4] = neg %x[i,j] : f32\n    %y[i,0] = copy %w[i] : f32\n"
      "    %y[i,j+1] = copy %x[i,j] : f32\n");
  EXPECT_NE(print(graph).find("%y = concatenate %y_part"), std::string::npos) << print(graph);
}

TEST(Raise, InterleavedSplitAndNestedParts) {
  expect_same(
      "    in %x: f32[3,4] row\n    in %w: f32[3] row\n    out %a: f32[3,8] row\n    out %b: f32[15] row\n   "
      " out %c: "
      "f32[6,8] row\n    out %d: f32[12] row\n",
      "    axes i=3, j=4\n"
      "    %a[i,2*j+1] = copy %x[i,j] : f32\n    %a[i,-2*j+6] = neg %x[i,j] : f32\n"
      "    %b[5*i+j] = copy %x[i,j] : f32\n    %b[5*i+4] = copy %w[i] : f32\n"
      "    %c[2*i,j] = copy %x[i,j] : f32\n    %c[2*i+1,2*j] = abs %x[i,j] : f32\n"
      "    %c[2*i+1,2*j+1] = exp %x[i,j] : f32\n    %c[-2*i+4,j+4] = neg %x[i,j] : f32\n"
      "    %d[j+4*i] = copy %x[i,j] : f32\n");
}

// Four boxes around a fifth, which no cut takes apart.
TEST(Raise, PartsThatNoCutTakesApart) {
  expect_same(
      "    in %x: f32[2,2] row\n    out %y: f32[3,3] row\n",
      "    axes i=2\n    %y[0,i] = copy %x[0,i] : f32\n    %y[i,2] = copy %x[i,1] : f32\n"
      "    %y[2,i+1] = neg %x[1,i] : f32\n    %y[i+1,0] = exp %x[i,0] : f32\n    %y[1,1] = copy 5.0 : f32\n");
  // The same around every other column.
  expect_same(
      "    in %x: f32[2,2] row\n    out %y: f32[3,6] row\n    out %z: f32[3,5] row\n",
      "    axes i=2, j=3\n    %y[j,2*i+1] = copy %x[0,i] : f32\n    %y[j,5] = copy 3.0 : f32\n"
      "    %y[0,2*i] = copy %x[0,i] : f32\n    %y[i,4] = copy %x[i,1] : f32\n"
      "    %y[2,2*i+2] = neg %x[1,i] : f32\n    %y[i+1,0] = exp %x[i,0] : f32\n    %y[1,2] = copy 5.0 : f32\n"
      "    %z[j,2*i+1] = copy %x[0,i] : f32\n    %z[j,-2*i+4] = copy %x[0,i] : f32\n    %z[j,0] = copy 9.0 : "
      "f32\n");
}

TEST(Raise, EmptyAxes) {
  expect_same(
      "    in %x: f32[0,3] row\n    in %a: f32[2,0] row\n    in %w: f32[2] row\n    out %y: f32[0,3] row\n"
      "    out %p: f32[2,3] row\n    out %q: f32[0] row\n    out %r: f32[2] row\n    out %s: f32[2] row\n",
      "    axes e=0, i=2, j=3\n    %y[e,j] = cumsum(j) %x[e,j] : f32\n"
      "    %p[i,j] = matmul(e) %a[i,e], %x[e,j] : f32\n    %q[e] = copy %x[e,0] : f32\n    %q[e] = copy "
      "%x[e,1] : f32\n"
      "    %r[i] = copy %x[i,0] else 2.0 : f32\n    %s[i] = copy %w[i] : f32\n    %s[e] = copy %x[e,0] : "
      "f32\n");
}

}  // namespace
}  // namespace autoperfect

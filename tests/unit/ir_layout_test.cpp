// The ABI of a kernel: layouts, temporaries, aliases, several dynamic axes. Places are computed by hand.
#include <gtest/gtest.h>

#include <cstring>

#include "ir/alias.h"
#include "ir/kernel_text.h"
#include "ir/layout.h"
#include "kernel_parts.h"
#include "reference/laid_out.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

Kernel kernel_of(const std::string& buffers, const std::string& math) {
  const auto text = kernel_text(buffers, math);
  const Kernel kernel = parse_or_throw(text);
  EXPECT_EQ(print(kernel), text);
  return kernel;
}

Kernel copy_of(const std::string& layout) {
  return kernel_of(
      "    in %x: i32[2,3] " + layout + "\n    out %y: i32[2,3] row\n",
      "    axes i=2, j=3\n    %y[i,j] = copy %x[i,j] : i32\n");
}

// %x of a memory of 0, 1, 2...
std::vector<int64_t> seen(const Kernel& kernel) {
  const auto& x = kernel.buffers[0];
  Memory memory;
  for (int32_t i = 0; i < *span_of(x); ++i)
    memory.insert(
        memory.end(), reinterpret_cast<unsigned char*>(&i), reinterpret_cast<unsigned char*>(&i + 1));
  auto outputs = run_reference(kernel, {read_laid_out(memory, x)}, Precision::exact);
  std::vector<int64_t> elements;
  for (int64_t e = 0; e < 6; ++e)
    elements.push_back((*outputs)[0].integer_at(e));
  return elements;
}

using Elements = std::vector<int64_t>;

TEST(Layout, TellsWhereElementsLie) {
  EXPECT_EQ(seen(copy_of("row")), (Elements{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(seen(copy_of("strides=[1,2]")), (Elements{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(seen(copy_of("strides=[5,1] offset=7")), (Elements{7, 8, 9, 12, 13, 14}));
  EXPECT_EQ(seen(copy_of("strides=[0,1]")), (Elements{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(seen(copy_of("strides=[-3,-1] offset=5")), (Elements{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(seen(copy_of("strides=[3,0] align=64")), (Elements{0, 0, 0, 3, 3, 3}));
}

TEST(Layout, Spans) {
  EXPECT_EQ(span_of(copy_of("row").buffers[0]), 6);
  EXPECT_EQ(span_of(copy_of("strides=[5,1] offset=7").buffers[0]), 15);
  EXPECT_EQ(span_of(copy_of("strides=[-3,-1] offset=5").buffers[0]), 6);
  EXPECT_EQ(span_of(copy_of("strides=[0,0]").buffers[0]), 1);
}

TEST(Layout, MemoryKeepsWhatIsBetweenElements) {
  auto x = copy_of("strides=[4,1] offset=1").buffers[0];
  auto tensor = Tensor::of({Dtype::i32, {2, 3}}, {1, 2, 3, 4, 5, 6});
  auto memory = lay_out(tensor, x, 0xff);
  const int32_t expected[] = {-1, 1, 2, 3, -1, 4, 5, 6};
  ASSERT_EQ(memory.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(memory.data(), expected, sizeof expected), 0);
  EXPECT_EQ(read_laid_out(memory, x).bytes, tensor.bytes);
}

const char* many_dims =
    "    in %x: f32[?i,?j] strides=[?,1]\n    in %z: f32[?i,4,?j] row\n    in %w: f32[?j] strides=[?]\n"
    "    out %y: f32[?i,?j] row\n    temp %t: f32[?j,8] row align=256\n";
const char* many_math =
    "    axes i=?5, k=4, j=?3\n    %a[i,j] = add %x[i,j], %w[j] : f32\n    %s[i,j] = sum(k) %z[i,k,j] : f32\n"
    "    %y[i,j] = mul %a[i,j], %s[i,j] : f32\n";

TEST(Layout, DimsAreSizesOfDynamicAxesThenFreeStrides) {
  auto kernel = kernel_of(many_dims, many_math);
  EXPECT_EQ(dim_of_axis(kernel, 0), 0u);
  EXPECT_EQ(dim_of_axis(kernel, 2), 1u);
  EXPECT_EQ(dim_of_stride(kernel, 0, 0), 2u);
  EXPECT_EQ(dim_of_stride(kernel, 2, 0), 3u);
  EXPECT_EQ(free_strides(kernel).size(), 2u);
  EXPECT_EQ(alignment_of(kernel.buffers[0]), 4);
  EXPECT_EQ(alignment_of(kernel.buffers[4]), 256);
  auto resized = resize(kernel, {7, 4, 2});
  EXPECT_EQ(resized.buffers[1].type.shape, (Shape{7, 4, 2}));
  EXPECT_EQ(resized.buffers[4].type.shape, (Shape{2, 8}));
  EXPECT_TRUE(verify(resized).empty());
}

TEST(Layout, CanonicalTextHasLayoutsButNoNamesAndSizes) {
  auto kernel = kernel_of(many_dims, many_math);
  auto text = print(kernel, Names::canonical);
  EXPECT_NE(text.find("in %in0: f32[?a0,?a1] strides=[?,1]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("temp %temp0: f32[?a1,8] row align=256\n"), std::string::npos) << text;
  EXPECT_EQ(signature(kernel), signature(resize(kernel, {9, 4, 11})));
  auto other = kernel;
  other.buffers[0].layout.strides[0] = 16;
  EXPECT_NE(signature(kernel), signature(other));
}

TEST(Layout, SeveralDynamicAxesRunAtAnySize) {
  auto kernel = kernel_of(many_dims, many_math);
  auto x = Tensor::of({Dtype::f32, {1, 2}}, {1, 2});
  auto z = Tensor::of({Dtype::f32, {1, 4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto outputs = run_reference(kernel, {x, z, Tensor::of({Dtype::f32, {2}}, {10, 20})}, Precision::exact);
  ASSERT_TRUE(outputs.ok()) << format(outputs.errors());
  EXPECT_EQ((*outputs)[0].values(), (std::vector<double>{11 * 16, 22 * 20}));
}

// --- which output may be written over which input

BufferId chosen(const std::string& buffers, const std::string& math) {
  auto kernel = kernel_of(buffers, math);
  choose_aliases(kernel);
  EXPECT_TRUE(verify(kernel).empty()) << format(verify(kernel));
  for (const auto& buffer : kernel.buffers)
    if (buffer.role == BufferRole::out) return buffer.alias;
  return -1;
}

TEST(Alias, OfWhatIsReadAtItsOwnPlaceAlone) {
  const std::string two = "    in %x: f32[4,8] row\n    in %z: f32[4,8] row\n    out %y: f32[4,8] row\n";
  const std::string axes = "    axes i=4, j=8\n";
  EXPECT_EQ(chosen(two, axes + "    %y[i,j] = add %x[i,j], %z[i,j] : f32\n"), 0);
  // A sum of it, or another place of it, may be read after it was written; %z may not.
  EXPECT_EQ(
      chosen(
          two,
          axes + "    %s[i] = sum(j) %x[i,j] : f32\n    %a[i,j] = add %x[i,j], %z[i,j] : f32\n"
                 "    %y[i,j] = mul %a[i,j], %s[i] : f32\n"),
      1);
  EXPECT_EQ(chosen(two, axes + "    %y[i,j] = add %x[i,j-1] else 0.0, %z[i,j] : f32\n"), 1);
  EXPECT_EQ(chosen(two, axes + "    %y[i,j] = add %x[-i+3,j], %z[i,j] : f32\n"), 1);
}

TEST(Alias, NotOfWhatAnotherOutputReads) {
  EXPECT_EQ(
      chosen(
          "    in %x: f32[4] row\n    out %y: f32[4] row\n    out %z: f32[4] row\n",
          "    axes i=4\n    %a[i] = exp %x[i] : f32\n    %y[i] = neg %a[i] : f32\n    %z[i] = abs %a[i] : "
          "f32\n"),
      -1);
}

TEST(Alias, NotOfWhatEachPartOfAKernelComputes) {
  // The range over i runs in parts, and each computes %y: the second would read what the first has written.
  EXPECT_EQ(
      chosen(
          "    in %x: f32[] row\n    in %w: f32[4] row\n    out %y: f32[] row\n    out %z: f32[4] row\n",
          "    axes i=4\n    %y[] = exp %x[] : f32\n    %z[i] = neg %w[i] : f32\n"),
      -1);
  EXPECT_EQ(
      chosen(
          "    in %x: f32[1] row\n    in %w: f32[4] row\n    out %y: f32[1] row\n    out %z: f32[] row\n",
          "    axes i=4\n    %y[0] = exp %x[0] : f32\n    %z[] = sum(i) %w[i] : f32\n"),
      -1);
}

TEST(Alias, NotOfOtherShapesBytesOrLayouts) {
  const std::string math = "    axes i=4\n    %y[i] = cast %x[i] : f16\n";
  EXPECT_EQ(chosen("    in %x: f32[4] row\n    out %y: f16[4] row\n", math), -1);
  EXPECT_EQ(chosen("    in %x: i16[4] row\n    out %y: f16[4] row\n", math), 0);
  EXPECT_EQ(chosen("    in %x: i16[4] strides=[2]\n    out %y: f16[4] row\n", math), -1);
  EXPECT_EQ(chosen("    in %x: i16[8] row\n    out %y: f16[4] row\n", math), -1);
}

}  // namespace
}  // namespace autoperfect

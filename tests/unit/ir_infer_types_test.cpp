#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ir/shape.h"

namespace autoperfect {
namespace {

using Ints = std::vector<int64_t>;

struct Attribute {
  const char* name;
  AttributeValue value;
};

// The type as text, or the code of the first error.
std::string infer(Op op, std::vector<TensorType> operands, std::vector<Attribute> attributes = {}) {
  Attributes set;
  for (auto& attribute : attributes)
    set.set(attribute.name, attribute.value);
  auto types = infer_types(op, operands, set);
  return types ? to_string((*types)[0]) : types.errors()[0].code;
}

TensorType f32(Shape shape) {
  return {Dtype::f32, std::move(shape)};
}
TensorType i32(Shape shape) {
  return {Dtype::i32, std::move(shape)};
}
TensorType boolean(Shape shape) {
  return {Dtype::bool_, std::move(shape)};
}

TEST(InferTypes, ElementwiseBroadcasts) {
  EXPECT_EQ(infer(Op::add, {f32({4, 1}), f32({8})}), "f32[4,8]");
  EXPECT_EQ(infer(Op::add, {f32({}), f32({2, 3})}), "f32[2,3]");
  EXPECT_EQ(infer(Op::add, {f32({0}), f32({1})}), "f32[0]");
  EXPECT_EQ(infer(Op::add, {f32({4}), f32({8})}), "shape-mismatch");
  EXPECT_EQ(infer(Op::select, {boolean({3, 1}), f32({4}), f32({})}), "f32[3,4]");
}

TEST(InferTypes, ElementwiseDtypes) {
  EXPECT_EQ(infer(Op::less, {f32({4}), f32({4})}), "bool[4]");
  EXPECT_EQ(infer(Op::add, {f32({4}), i32({4})}), "dtype-mismatch");
  EXPECT_EQ(infer(Op::exp, {i32({4})}), "dtype-not-allowed");
  EXPECT_EQ(infer(Op::exp, {{Dtype::bf16, {4}}}), "bf16[4]");
  EXPECT_EQ(infer(Op::floor, {i32({4})}), "i32[4]");
  EXPECT_EQ(infer(Op::logical_not, {i32({4})}), "dtype-not-allowed");
  EXPECT_EQ(infer(Op::left_shift, {boolean({4}), boolean({4})}), "dtype-not-allowed");
  EXPECT_EQ(infer(Op::bitwise_and, {boolean({4}), boolean({4})}), "bool[4]");
  EXPECT_EQ(infer(Op::select, {i32({4}), f32({4}), f32({4})}), "dtype-mismatch");
  EXPECT_EQ(infer(Op::cast, {f32({4})}, {{"dtype", Dtype::u8}}), "u8[4]");
}

// As mlx/ops.cpp: sums of narrow integers are 32 bits wide.
TEST(InferTypes, SumsWidenIntegers) {
  auto sum = [](Dtype dtype) { return infer(Op::sum, {{dtype, {2}}}, {{"axes", Ints{0}}}); };
  EXPECT_EQ(sum(Dtype::bool_), "i32[]");
  EXPECT_EQ(sum(Dtype::i8), "i32[]");
  EXPECT_EQ(sum(Dtype::i16), "i32[]");
  EXPECT_EQ(sum(Dtype::i64), "i64[]");
  EXPECT_EQ(sum(Dtype::u8), "u32[]");
  EXPECT_EQ(sum(Dtype::u32), "u32[]");
  EXPECT_EQ(sum(Dtype::u64), "u64[]");
  EXPECT_EQ(sum(Dtype::f16), "f16[]");
}

TEST(InferTypes, Reductions) {
  auto x = f32({4, 5, 6});
  EXPECT_EQ(infer(Op::sum, {x}, {{"axes", Ints{0, 2}}}), "f32[5]");
  EXPECT_EQ(infer(Op::sum, {x}, {{"axes", Ints{0, 2}}, {"keepdims", true}}), "f32[1,5,1]");
  EXPECT_EQ(infer(Op::sum, {x}, {{"axes", Ints{}}}), "f32[4,5,6]");
  EXPECT_EQ(infer(Op::any, {i32({4})}, {{"axes", Ints{0}}}), "bool[]");
  EXPECT_EQ(infer(Op::argmax, {x}, {{"axis", int64_t{1}}}), "u32[4,6]");
  EXPECT_EQ(infer(Op::sum, {x}, {{"axes", Ints{2, 0}}}), "axes-order");
  EXPECT_EQ(infer(Op::sum, {x}, {{"axes", Ints{1, 1}}}), "axes-order");
  EXPECT_EQ(infer(Op::sum, {x}, {{"axes", Ints{-1}}}), "axis-range");
  EXPECT_EQ(infer(Op::sum, {x}, {{"axes", Ints{3}}}), "axis-range");
  EXPECT_EQ(infer(Op::sum, {f32({0})}, {{"axes", Ints{0}}}), "f32[]");
  EXPECT_EQ(infer(Op::max, {f32({0})}, {{"axes", Ints{0}}}), "empty-reduction");
  EXPECT_EQ(infer(Op::argmin, {f32({0})}, {{"axis", int64_t{0}}}), "empty-reduction");
}

TEST(InferTypes, Composites) {
  EXPECT_EQ(infer(Op::mean, {i32({4, 8})}, {{"axes", Ints{1}}}), "f32[4]");
  EXPECT_EQ(infer(Op::var, {{Dtype::c64, {4}}}, {{"axes", Ints{0}}, {"ddof", int64_t{1}}}), "f32[]");
  EXPECT_EQ(infer(Op::std, {{Dtype::bf16, {4}}}, {{"axes", Ints{0}}, {"keepdims", true}}), "bf16[1]");
  EXPECT_EQ(infer(Op::softmax, {i32({4, 8})}), "f32[4,8]");
  EXPECT_EQ(infer(Op::logsumexp, {f32({4, 8})}), "f32[4,1]");
  EXPECT_EQ(infer(Op::softmax, {f32({})}), "axis-range");
}

TEST(InferTypes, Views) {
  auto x = f32({4, 5});
  EXPECT_EQ(infer(Op::transpose, {x}, {{"axes", Ints{1, 0}}}), "f32[5,4]");
  EXPECT_EQ(infer(Op::transpose, {x}, {{"axes", Ints{1, 1}}}), "axes-permutation");
  EXPECT_EQ(infer(Op::transpose, {x}, {{"axes", Ints{1}}}), "axes-permutation");
  EXPECT_EQ(infer(Op::reshape, {x}, {{"shape", Ints{2, 10}}}), "f32[2,10]");
  EXPECT_EQ(infer(Op::reshape, {x}, {{"shape", Ints{-1, 10}}}), "shape-too-large");
  EXPECT_EQ(infer(Op::reshape, {x}, {{"shape", Ints{3, 7}}}), "shape-mismatch");
  EXPECT_EQ(infer(Op::broadcast, {f32({5})}, {{"shape", Ints{4, 5}}}), "f32[4,5]");
  EXPECT_EQ(infer(Op::broadcast, {x}, {{"shape", Ints{5}}}), "shape-mismatch");
  EXPECT_EQ(infer(Op::broadcast, {f32({})}, {{"shape", Ints{INT64_MAX, 2}}}), "shape-too-large");
}

std::string slice(int64_t n, int64_t start, int64_t stop, int64_t stride) {
  return infer(
      Op::slice, {f32({n})}, {{"start", Ints{start}}, {"stop", Ints{stop}}, {"strides", Ints{stride}}});
}

TEST(InferTypes, SlicesReadNegativeNumbersAsNumPyDoes) {
  EXPECT_EQ(slice(10, 2, 8, 3), "f32[2]");
  EXPECT_EQ(slice(10, -3, 10, 1), "f32[3]");
  EXPECT_EQ(slice(10, 0, -1, 1), "f32[9]");
  EXPECT_EQ(slice(10, 0, 99, 1), "f32[10]");
  EXPECT_EQ(slice(10, 8, 2, 1), "f32[0]");
  EXPECT_EQ(slice(10, 9, -11, -1), "f32[10]");
  EXPECT_EQ(slice(10, 9, -1, -1), "f32[0]");
  EXPECT_EQ(slice(10, 99, 0, -4), "f32[3]");
  EXPECT_EQ(slice(0, 0, 5, 1), "f32[0]");
  EXPECT_EQ(slice(10, 0, 5, 0), "slice-stride");
  EXPECT_EQ(slice(10, 0, 5, INT64_MIN), "slice-stride");
  EXPECT_EQ(slice(10, INT64_MIN, INT64_MAX, INT64_MAX), "f32[1]");
}

TEST(InferTypes, Movement) {
  EXPECT_EQ(infer(Op::concatenate, {f32({2, 3}), f32({4, 3})}, {{"axis", int64_t{0}}}), "f32[6,3]");
  EXPECT_EQ(infer(Op::concatenate, {f32({2, 3}), f32({4, 2})}, {{"axis", int64_t{0}}}), "shape-mismatch");
  EXPECT_EQ(infer(Op::concatenate, {f32({2}), i32({2})}, {{"axis", int64_t{0}}}), "shape-mismatch");
  EXPECT_EQ(infer(Op::concatenate, {}, {{"axis", int64_t{0}}}), "arity");
  EXPECT_EQ(infer(Op::gather_axis, {f32({4, 8}), i32({2, 8})}, {{"axis", int64_t{0}}}), "f32[2,8]");
  EXPECT_EQ(infer(Op::gather_axis, {f32({4, 8}), f32({2, 8})}, {{"axis", int64_t{0}}}), "dtype-not-allowed");
  EXPECT_EQ(infer(Op::matmul, {f32({7, 1, 4, 5}), f32({3, 5, 6})}), "f32[7,3,4,6]");
  EXPECT_EQ(infer(Op::matmul, {i32({4, 5}), i32({5, 6})}), "dtype-not-allowed");
  EXPECT_EQ(infer(Op::matmul, {f32({5}), f32({5, 6})}), "rank-mismatch");
}

TEST(InferTypes, Sources) {
  EXPECT_EQ(infer(Op::constant, {}, {{"value", 1.0}, {"dtype", Dtype::f32}}), "f32[]");
  EXPECT_EQ(infer(Op::constant, {}, {{"value", 1.0}, {"dtype", Dtype::i32}}), "constant-dtype");
  EXPECT_EQ(infer(Op::constant, {}, {{"value", true}, {"dtype", Dtype::i32}}), "constant-dtype");
  EXPECT_EQ(
      infer(Op::constant, {}, {{"value", Ints{1, 2}}, {"dtype", Dtype::i32}, {"shape", Ints{2}}}), "i32[2]");
  EXPECT_EQ(
      infer(Op::constant, {}, {{"value", Ints{1}}, {"dtype", Dtype::i32}, {"shape", Ints{2}}}),
      "constant-size");
  EXPECT_EQ(infer(Op::full, {f32({})}, {{"shape", Ints{2, 2}}}), "f32[2,2]");
  EXPECT_EQ(
      infer(Op::arange, {}, {{"start", 0.0}, {"step", 1.0}, {"size", int64_t{5}}, {"dtype", Dtype::i32}}),
      "i32[5]");
  EXPECT_EQ(infer(Op::opaque, {}, {{"primitive", std::string("P")}, {"key", int64_t{0}}}), "not-inferable");
}

TEST(InferTypes, AttributesAreChecked) {
  EXPECT_EQ(infer(Op::sum, {f32({4})}), "missing-attribute");
  EXPECT_EQ(infer(Op::sum, {f32({4})}, {{"axes", int64_t{0}}}), "attribute-type");
  EXPECT_EQ(infer(Op::exp, {f32({4})}, {{"axes", Ints{0}}}), "unknown-attribute");
  EXPECT_EQ(infer(Op::add, {f32({4})}), "arity");
}

TEST(Shape, CountsWithoutOverflow) {
  EXPECT_EQ(checked_elements({}), 1);
  EXPECT_EQ(checked_elements({3, 0, 5}), 0);
  EXPECT_EQ(checked_elements({int64_t{1} << 57}), int64_t{1} << 57);
  EXPECT_FALSE(checked_elements({int64_t{1} << 32, int64_t{1} << 32}));
  EXPECT_FALSE(checked_elements({0, INT64_MAX, 2}));
  EXPECT_FALSE(checked_elements({-1}));
  EXPECT_FALSE(checked_elements(Shape(33, 1)));
}

}  // namespace
}  // namespace autoperfect

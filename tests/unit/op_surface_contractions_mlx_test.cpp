// Contractions, quantized or not, in the dtypes and shapes MLX takes.
#include "op_surface.h"

namespace autoperfect {
namespace {

TEST(OpSurface, Contractions) {
  Surface surface;
  auto matmul = [](const Arrays& in) { return Arrays{mx::matmul(in[0], in[1])}; };
  auto addmm = [](const Arrays& in) { return Arrays{mx::addmm(in[2], in[0], in[1], 2.0f, 0.5f)}; };
  const std::vector<std::pair<mx::Shape, mx::Shape>> shapes{
      {{4}, {4}},
      {{3, 4}, {4}},
      {{4}, {4, 3}},
      {{3, 4}, {4, 2}},
      {{2, 3, 4}, {4, 2}},
      {{2, 3, 4}, {2, 4, 2}},
      {{2, 1, 3, 4}, {3, 4, 2}},
      {{1, 2, 1, 3, 4}, {2, 1, 1, 4, 1}},
      {{3, 0}, {0, 2}},
      {{0, 4}, {4, 2}},
      {{1, 1}, {1, 1}}};
  for (auto dtype : every_dtype()) {
    for (const auto& [left, right] : shapes) {
      for (auto layout : every_layout) {
        auto a = stored(numbers(left, dtype), layout), b = stored(numbers(right, dtype, 1), layout);
        surface.run("matmul", matmul, {a, b});
        surface.run("addmm", addmm, {a, b, numbers({}, dtype, 2)});
        if (right.size() > 1) surface.run("addmm of a row", addmm, {a, b, numbers({right.back()}, dtype, 2)});
      }
    }
  }
  for (auto dtype : float_dtypes) {
    for (int n : {1, 2, 16, 12, 40, 28}) {
      auto hadamard = [](const Arrays& in) { return Arrays{mx::hadamard_transform(in[0], 0.5f)}; };
      surface.run("hadamard", hadamard, {numbers({3, n}, dtype)});
    }
    auto segmented = [](const Arrays& in) { return Arrays{mx::segmented_mm(in[0], in[1], in[2])}; };
    auto pairs = mx::reshape(array({0, 2, 2, 6}, mx::uint32), {2, 2});
    surface.run("segmented_mm", segmented, {numbers({3, 6}, dtype), numbers({6, 2}, dtype, 1), pairs});
    auto gathered = [](const Arrays& in) { return Arrays{mx::gather_mm(in[0], in[1], in[2], in[3])}; };
    auto right_only = [](const Arrays& in) {
      return Arrays{mx::gather_mm(in[0], in[1], std::nullopt, in[2], true)};
    };
    auto a = numbers({2, 3, 4}, dtype), b = numbers({5, 4, 2}, dtype, 1);
    surface.run("gather_mm", gathered, {a, b, indices({4}, 2, mx::uint32), indices({4}, 5, mx::uint32)});
    surface.run("gather_mm, sorted", right_only, {a, b, array({1, 3}, mx::uint32)});
  }
  for (int masks = 1; masks < 4; ++masks) {
    auto masked = [=](const Arrays& in) {
      auto of = [&](bool present, size_t i) { return present ? std::optional(in[i]) : std::nullopt; };
      return Arrays{
          mx::block_masked_mm(in[0], in[1], 32, of(masks & 1, 2), of(masks & 2, 3), of(masks & 2, 4))};
    };
    surface.run(
        "block_masked_mm",
        masked,
        {numbers({2, 40, 33}, mx::float32),
         numbers({2, 33, 70}, mx::float32, 1),
         numbers({2, 2, 3}, mx::bool_),
         numbers({2, 2, 2}, mx::bool_, 1),
         numbers({2, 2, 3}, mx::bool_, 2)});
  }
  EXPECT_GE(surface.count(Op::matmul), 100);
  EXPECT_GE(surface.count(Op::addmm), 100);
  for (Op op : {Op::hadamard, Op::segmented_mm, Op::gather_mm, Op::block_masked_mm})
    EXPECT_GE(surface.count(op), 2) << name(op);
}

TEST(OpSurface, Convolutions) {
  Surface surface;
  struct Setting {
    mx::Shape x, w;
    std::vector<int> strides, low, high, kernel, input;
    int groups;
    bool flip;
  };
  const std::vector<Setting> settings{
      {{2, 9, 4}, {6, 3, 4}, {1}, {0}, {0}, {1}, {1}, 1, false},
      {{2, 9, 4}, {6, 3, 2}, {2}, {1}, {2}, {1}, {1}, 2, true},
      {{1, 7, 8, 3}, {4, 3, 2, 3}, {1, 2}, {1, 0}, {0, 1}, {2, 1}, {1, 1}, 1, false},
      {{1, 5, 4, 3}, {4, 3, 2, 3}, {1, 1}, {2, 2}, {2, 2}, {1, 1}, {2, 3}, 1, true},
      {{2, 6, 6, 4}, {8, 3, 3, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 4, false},
      {{1, 4, 5, 6, 2}, {3, 2, 2, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}, 1, false},
      {{1, 9, 2}, {3, 3, 2}, {1}, {-1}, {-2}, {1}, {1}, 1, false}};
  for (auto dtype : float_dtypes) {
    for (const auto& s : settings) {
      auto conv = [=](const Arrays& in) {
        return Arrays{
            mx::conv_general(in[0], in[1], s.strides, s.low, s.high, s.kernel, s.input, s.groups, s.flip)};
      };
      for (auto layout : every_layout)
        surface.run(
            "conv", conv, {stored(numbers(s.x, dtype), layout), stored(numbers(s.w, dtype, 1), layout)});
    }
    auto gradients = [](const Arrays& in) {
      auto loss = [](const Arrays& a) { return mx::sum(mx::square(mx::conv2d(a[0], a[1], {2, 1}, {1, 1}))); };
      return mx::grad(loss, {0, 1})(in);
    };
    surface.run(
        "gradients of conv2d", gradients, {numbers({1, 7, 8, 3}, dtype), numbers({4, 3, 2, 3}, dtype, 1)});
    auto transposed = [](const Arrays& in) { return Arrays{mx::conv_transpose1d(in[0], in[1], 2, 1, 1, 1)}; };
    surface.run("conv_transpose1d", transposed, {numbers({2, 9, 4}, dtype), numbers({6, 3, 4}, dtype, 1)});
  }
  EXPECT_GE(surface.count(Op::conv), 80);
}

TEST(OpSurface, Quantized) {
  Surface surface;
  for (auto dtype : {mx::float16, mx::bfloat16, mx::float32}) {
    for (int bits : {2, 3, 4, 5, 6, 8}) {
      for (int group : {32, 64, 128}) {
        auto w = numbers({3, 64, 128}, dtype), x = numbers({3, 5, 128}, dtype, 1);
        auto quantize = [=](const Arrays& in) { return mx::quantize(in[0], group, bits); };
        surface.run("quantize", quantize, {w});
        auto parts = quantize({w});
        auto dequantize = [=](const Arrays& in) {
          return Arrays{mx::dequantize(in[0], in[1], in[2], group, bits)};
        };
        surface.run("dequantize", dequantize, parts);
        auto product = [=](const Arrays& in) {
          return Arrays{mx::quantized_matmul(in[0], in[1], in[2], in[3], true, group, bits)};
        };
        surface.run("batched", product, {x, parts[0], parts[1], parts[2]});
        auto flat = quantize({w});
        for (auto& part : flat)
          part = mx::take(part, 0, 0);
        surface.run("quantized_matmul", product, {x, flat[0], flat[1], flat[2]});
        auto plain = [=](const Arrays& in) {
          return Arrays{mx::quantized_matmul(in[0], in[1], in[2], in[3], false, group, bits)};
        };
        surface.run("not transposed", plain, {numbers({5, 64}, dtype), flat[0], flat[1], flat[2]});
        auto gather = [=](const Arrays& in) {
          return Arrays{mx::gather_qmm(in[0], in[1], in[2], in[3], in[4], in[5], true, group, bits)};
        };
        surface.run(
            "gather_qmm",
            gather,
            {x, parts[0], parts[1], parts[2], indices({4}, 3, mx::uint32), indices({4}, 3, mx::uint32, 1)});
      }
    }
    for (const char* mode : {"mxfp4", "mxfp8", "nvfp4"}) {
      auto round_trip = [=](const Arrays& in) {
        auto parts = mx::quantize(in[0], std::nullopt, std::nullopt, mode);
        return Arrays{
            mx::dequantize(
                parts[0], parts[1], std::nullopt, std::nullopt, std::nullopt, mode, std::nullopt, dtype),
            mx::quantized_matmul(
                in[1], parts[0], parts[1], std::nullopt, true, std::nullopt, std::nullopt, mode)};
      };
      surface.run(mode, round_trip, {numbers({64, 128}, dtype), numbers({5, 128}, dtype, 1)});
    }
  }
  for (auto dtype : {mx::float16, mx::bfloat16, mx::float32}) {  // f64 is not refused, but not computed
    auto fp8 = [=](const Arrays& in) { return Arrays{mx::from_fp8(mx::to_fp8(in[0]), dtype)}; };
    for (const auto& shape : every_shape)
      surface.run("fp8", fp8, {numbers(shape, dtype)});
  }
  for (Op op : {Op::quantize, Op::quantized_matmul, Op::gather_qmm, Op::to_fp8, Op::from_fp8})
    EXPECT_GE(surface.count(op), 20) << name(op);
}

}  // namespace
}  // namespace autoperfect

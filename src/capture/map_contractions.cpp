#include "capture/mapping.h"
#include "mlx/fast_primitives.h"

namespace autoperfect::mapping {

namespace {

namespace mx = mlx::core;

std::string mode_name(mx::QuantizationMode mode) {
  switch (mode) {
    case mx::QuantizationMode::Affine:
      return "affine";
    case mx::QuantizationMode::Mxfp4:
      return "mxfp4";
    case mx::QuantizationMode::Mxfp8:
      return "mxfp8";
    case mx::QuantizationMode::Nvfp4:
      return "nvfp4";
  }
  return "";
}

MappedPrimitive packed(Op op, int bits, int group_size, mx::QuantizationMode mode) {
  return with(op, {{"bits", int64_t{bits}}, {"group_size", int64_t{group_size}}, {"mode", mode_name(mode)}});
}

MappedPrimitive sorted(MappedPrimitive mapped, bool left, bool right) {
  return flagged(flagged(std::move(mapped), "left_sorted", left), "right_sorted", right);
}

MappedPrimitive map_addmm(const mx::array& output) {
  auto [alpha, beta] = as<mx::AddMM>(output).state();
  return with(Op::addmm, {{"alpha", double{alpha}}, {"beta", double{beta}}});
}

MappedPrimitive map_block_masked_mm(const mx::array& output) {
  return with(Op::block_masked_mm, {{"block_size", int64_t{as<mx::BlockMaskedMM>(output).state()}}});
}

MappedPrimitive map_gather_mm(const mx::array& output) {
  auto [left, right] = as<mx::GatherMM>(output).state();
  return sorted({Op::gather_mm, {}}, left, right);
}

MappedPrimitive map_convolution(const mx::array& output) {
  auto [strides, low, high, kernel, input, groups, flip] = as<mx::Convolution>(output).state();
  auto mapped = with(
      Op::conv,
      {{"strides", widen(strides)},
       {"padding_low", widen(low)},
       {"padding_high", widen(high)},
       {"kernel_dilation", widen(kernel)},
       {"input_dilation", widen(input)},
       {"groups", int64_t{groups}}});
  return flagged(std::move(mapped), "flip", flip);
}

MappedPrimitive map_hadamard(const mx::array& output) {
  return with(Op::hadamard, {{"scale", double{as<mx::Hadamard>(output).state()}}});
}

MappedPrimitive map_quantized_matmul(const mx::array& output) {
  auto [group_size, bits, mode, transpose] = as<mx::QuantizedMatmul>(output).state();
  return flagged(packed(Op::quantized_matmul, bits, group_size, mode), "transpose", transpose);
}

MappedPrimitive map_qq_matmul(const mx::array& output) {
  auto [group_size, bits, mode] = as<mx::QQMatmul>(output).state();
  return packed(Op::qq_matmul, bits, group_size, mode);
}

MappedPrimitive map_gather_qmm(const mx::array& output) {
  auto [group_size, bits, mode, transpose, left, right] = as<mx::GatherQMM>(output).state();
  return sorted(flagged(packed(Op::gather_qmm, bits, group_size, mode), "transpose", transpose), left, right);
}

MappedPrimitive map_gather_qqmm(const mx::array& output) {
  auto [group_size, bits, mode, left, right] = as<mx::GatherQQMM>(output).state();
  return sorted(packed(Op::gather_qqmm, bits, group_size, mode), left, right);
}

MappedPrimitive map_quantize(const mx::array& output) {
  auto [fallback, group_size, bits, mode, dequantize] = as<mx::fast::Quantize>(output).state();
  auto mapped = packed(dequantize ? Op::dequantize : Op::quantize, bits, group_size, mode);
  if (dequantize) mapped.attributes.set("dtype", from_mlx(output.dtype()));
  return mapped;
}

}  // namespace

const Table& contractions() {
  static const Table table = {
      {"AddMM", map_addmm},
      {"BlockMaskedMM", map_block_masked_mm},
      {"GatherMM", map_gather_mm},
      {"Convolution", map_convolution},
      {"Hadamard", map_hadamard},
      {"QuantizedMatmul", map_quantized_matmul},
      {"QQMatmul", map_qq_matmul},
      {"GatherQMM", map_gather_qmm},
      {"GatherQQMM", map_gather_qqmm},
      {"fast::Quantize", map_quantize},
  };
  return table;
}

}  // namespace autoperfect::mapping

// Contractions, quantized or not.
#include <optional>

#include "capture/applying.h"

namespace autoperfect::applying {

namespace {

using Maybe = std::optional<array>;

bool is_affine(const Call& call) {
  return call.text("mode") == "affine";
}

array block_masked_mm(const Call& call) {
  const auto& in = call.in;
  size_t operands = in.size() == 3 ? 3 : in.size() - 2;  // where the masks of the operands begin
  Maybe of_result, left, right;
  if (in.size() != 4) of_result = in[2];
  if (in.size() != 3) left = in[operands], right = in[operands + 1];
  return mx::block_masked_mm(in[0], in[1], call.integer("block_size"), of_result, left, right);
}

array conv(const Call& call) {
  return mx::conv_general(
      call.in[0],
      call.in[1],
      call.integers("strides"),
      call.integers("padding_low"),
      call.integers("padding_high"),
      call.integers("kernel_dilation"),
      call.integers("input_dilation"),
      call.integer("groups"),
      call.flag("flip"));
}

// That indices are sorted is only known to whoever made them; any order of them gives the same numbers.
array gather_qmm(const Call& call) {
  const auto& in = call.in;
  return mx::gather_qmm(
      in[0],
      in[1],
      in[2],
      is_affine(call) ? Maybe(in[3]) : Maybe(),
      in[in.size() - 2],
      in.back(),
      call.flag("transpose"),
      call.integer("group_size"),
      call.integer("bits"),
      call.text("mode"));
}

array qq_matmul(const Call& call) {
  const auto& in = call.in;
  bool gathers = call.node.op == Op::gather_qqmm;
  size_t extra = gathers ? 4 : 2;
  Maybe scales, global_x, global_w;
  if ((in.size() - extra) % 2 == 1) scales = in[extra];
  if (in.size() - extra >= 2) global_x = in[in.size() - 2], global_w = in.back();
  int group_size = call.integer("group_size"), bits = call.integer("bits");
  auto mode = call.text("mode");
  if (!gathers) return mx::qqmm(in[0], in[1], scales, group_size, bits, mode, global_x, global_w);
  return mx::gather_qqmm(in[0], in[1], scales, in[2], in[3], group_size, bits, mode, global_x, global_w);
}

array dequantize(const Call& call) {
  const auto& in = call.in;
  bool affine = is_affine(call);
  return mx::dequantize(
      in[0],
      in[1],
      affine ? Maybe(in[2]) : Maybe(),
      call.integer("group_size"),
      call.integer("bits"),
      call.text("mode"),
      !affine && in.size() == 3 ? Maybe(in[2]) : Maybe(),
      call.dtype());
}

Arrays quantize(const Call& call) {
  return mx::quantize(
      call.in[0],
      call.integer("group_size"),
      call.integer("bits"),
      call.text("mode"),
      call.in.size() == 2 ? Maybe(call.in[1]) : Maybe());
}

array quantized_matmul(const Call& call) {
  const auto& in = call.in;
  return mx::quantized_matmul(
      in[0],
      in[1],
      in[2],
      is_affine(call) ? Maybe(in[3]) : Maybe(),
      call.flag("transpose"),
      call.integer("group_size"),
      call.integer("bits"),
      call.text("mode"));
}

}  // namespace

Arrays contraction(const Call& call) {
  const auto& in = call.in;
  switch (call.node.op) {
    case Op::matmul:
      return {mx::matmul(in[0], in[1])};
    case Op::addmm:
      return {mx::addmm(in[2], in[0], in[1], call.number("alpha"), call.number("beta"))};
    case Op::block_masked_mm:
      return {block_masked_mm(call)};
    case Op::gather_mm:
      return {mx::gather_mm(in[0], in[1], in[2], in[3])};
    case Op::segmented_mm:
      return {mx::segmented_mm(in[0], in[1], in[2])};
    case Op::conv:
      return {conv(call)};
    case Op::hadamard:
      return {mx::hadamard_transform(in[0], call.number("scale"))};
    default:
      return quantized(call);
  }
}

Arrays quantized(const Call& call) {
  switch (call.node.op) {
    case Op::quantized_matmul:
      return {quantized_matmul(call)};
    case Op::gather_qmm:
      return {gather_qmm(call)};
    case Op::quantize:
      return quantize(call);
    case Op::dequantize:
      return {dequantize(call)};
    default:
      return {qq_matmul(call)};
  }
}

}  // namespace autoperfect::applying

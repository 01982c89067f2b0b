#include "capture/mapping.h"
#include "mlx/fast_primitives.h"

namespace autoperfect::mapping {

namespace {

namespace mx = mlx::core;

template <class P, Op op>
MappedPrimitive with_epsilon(const mx::array& output) {
  return with(op, {{"eps", double{as<P>(output).state().second}}});
}

template <Op op>
MappedPrimitive with_outputs(const mx::array& output) {
  return with(op, {{"outputs", static_cast<int64_t>(output.siblings().size() + 1)}});
}

MappedPrimitive map_softmax(const mx::array& output) {
  return with(Op::softmax, {{"precise", as<mx::Softmax>(output).state()}});
}

MappedPrimitive map_split(const mx::array& output) {
  auto [indices, axis] = as<mx::Split>(output).state();
  return with(Op::split, {{"indices", widen(indices)}, {"axis", int64_t{axis}}});
}

MappedPrimitive map_number_of_elements(const mx::array& output) {
  auto [axes, inverted, dtype] = as<mx::NumberOfElements>(output).state();
  auto mapped = with(Op::number_of_elements, {{"axes", widen(axes)}, {"dtype", from_mlx(output.dtype())}});
  return flagged(std::move(mapped), "inverted", inverted);
}

// With frequencies among the operands the base means nothing.
MappedPrimitive map_rope(const mx::array& output) {
  auto [fallback, dims, traditional, base, scale, forward] = as<mx::fast::RoPE>(output).state();
  auto mapped = flagged(
      with(Op::rope, {{"dims", int64_t{dims}}, {"scale", double{scale}}}), "traditional", traditional);
  if (output.inputs().size() == 2) mapped.attributes.set("base", double{base});
  if (!forward) mapped.attributes.set("forward", false);
  return mapped;
}

MappedPrimitive attention(Op op, float scale, bool causal, bool sinks) {
  auto mapped = with(op, {{"scale", double{scale}}});
  return flagged(flagged(std::move(mapped), "causal", causal), "sinks", sinks);
}

MappedPrimitive map_attention(const mx::array& output) {
  auto [fallback, scale, causal, sinks, logsumexp, force_fused] =
      as<mx::fast::ScaledDotProductAttention>(output).state();
  auto mapped = attention(Op::scaled_dot_product_attention, scale, causal, sinks);
  return flagged(flagged(std::move(mapped), "logsumexp", logsumexp), "force_fused", force_fused);
}

MappedPrimitive map_attention_vjp(const mx::array& output) {
  auto [fallback, scale, causal, sinks] = as<mx::fast::ScaledDotProductAttentionVJP>(output).state();
  return attention(Op::scaled_dot_product_attention_vjp, scale, causal, sinks);
}

MappedPrimitive map_fp8(const mx::array& output) {
  if (as<mx::fast::ConvertFP8>(output).state()) return {Op::to_fp8, {}};
  return with(Op::from_fp8, {{"dtype", from_mlx(output.dtype())}});
}

}  // namespace

const Table& library() {
  static const Table table = {
      {"Softmax", map_softmax},
      {"Split", map_split},
      {"NumberOfElements", map_number_of_elements},
      {"CustomTransforms", with_outputs<Op::custom_transforms>},
      {"Depends", with_outputs<Op::depends>},
      {"fast::RMSNorm", with_epsilon<mx::fast::RMSNorm, Op::rms_norm>},
      {"fast::RMSNormVJP", with_epsilon<mx::fast::RMSNormVJP, Op::rms_norm_vjp>},
      {"fast::LayerNorm", with_epsilon<mx::fast::LayerNorm, Op::layer_norm>},
      {"fast::LayerNormVJP", with_epsilon<mx::fast::LayerNormVJP, Op::layer_norm_vjp>},
      {"fast::RoPE", map_rope},
      {"fast::ScaledDotProductAttention", map_attention},
      {"fast::ScaledDotProductAttentionVJP", map_attention_vjp},
      {"fast::ConvertFP8", map_fp8},
  };
  return table;
}

}  // namespace autoperfect::mapping

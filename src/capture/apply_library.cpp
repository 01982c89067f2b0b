// Composites: MLX's library functions, `mlx.fast` and the transformations' own nodes.
#include "capture/applying.h"
#include "mlx/fast.h"
#include "mlx/transforms.h"

namespace autoperfect::applying {

namespace {

namespace fast = mx::fast;

array moment(const Call& call) {
  auto axes = call.integers("axes");
  bool keepdims = call.flag("keepdims");
  auto ddof = static_cast<int>(call.node.attributes.get_or("ddof", int64_t{0}));
  if (call.node.op == Op::mean) return mx::mean(call.in[0], axes, keepdims);
  if (call.node.op == Op::var) return mx::var(call.in[0], axes, keepdims, ddof);
  return mx::std(call.in[0], axes, keepdims, ddof);
}

// MLX's functions take a weight for each element of the last axis, or none; the node has one number for none.
array norm(const Call& call, const Arrays& in) {
  int features = in[0].shape(-1);
  auto weight = [&](size_t i) { return mx::broadcast_to(in[i], {features}); };
  bool layer = call.node.op == Op::layer_norm || call.node.op == Op::layer_norm_vjp;
  if (layer) return fast::layer_norm(in[0], weight(1), weight(2), call.number("eps"));
  return fast::rms_norm(in[0], weight(1), call.number("eps"));
}

Arrays norm_vjp(const Call& call) {
  Arrays primals(call.in.begin(), call.in.end() - 1);
  auto forward = [&](const Arrays& in) { return Arrays{norm(call, in)}; };
  return mx::vjp(forward, primals, {call.in.back()}).second;
}

array rotate(const Call& call, const array& x) {
  bool frequencies = call.in.size() == 3;
  return fast::rope(
      x,
      call.integer("dims"),
      call.flag("traditional"),
      frequencies ? std::nullopt : std::optional(call.number("base")),
      call.number("scale"),
      call.in[1],
      frequencies ? std::optional(call.in[2]) : std::nullopt);
}

// Backward is the gradient of forward: a rotation by the opposite angles, whatever it is taken at.
array rope(const Call& call) {
  const auto& x = call.in[0];
  if (call.flag("forward", true)) return rotate(call, x);
  auto forward = [&](const Arrays& in) { return Arrays{rotate(call, in[0])}; };
  return mx::vjp(forward, {x}, {x}).second[0];
}

array attention(const Call& call) {
  const auto& in = call.in;
  bool sinks = call.flag("sinks"), causal = call.flag("causal");
  bool masked = in.size() == (sinks ? 5u : 4u);
  return fast::scaled_dot_product_attention(
      in[0],
      in[1],
      in[2],
      call.number("scale"),
      causal ? "causal" : "",
      masked ? std::optional(in[3]) : std::nullopt,
      sinks ? std::optional(in.back()) : std::nullopt,
      call.flag("force_fused"));
}

array last_axis(const Call& call) {
  const auto& a = call.in[0];
  std::vector<int> last{-1};
  if (call.node.op == Op::softmax) return mx::softmax(a, last, call.flag("precise"));
  auto total = mx::logsumexp(a, last, true);
  return call.node.op == Op::logsumexp ? total : mx::subtract(a, total);
}

}  // namespace

Arrays composite(const Call& call) {
  const auto& in = call.in;
  switch (call.node.op) {
    case Op::softmax:
    case Op::log_softmax:
    case Op::logsumexp:
      return {last_axis(call)};
    case Op::divmod:
      return mx::divmod(in[0], in[1]);
    case Op::split:
      return mx::split(in[0], call.shape("indices"), call.integer("axis"));
    case Op::number_of_elements:
      return {mx::number_of_elements(in[0], call.integers("axes"), call.flag("inverted"), call.dtype())};
    case Op::custom_transforms:
      return {in.end() - call.integer("outputs"), in.end()};
    case Op::rms_norm:
    case Op::layer_norm:
      return {norm(call, in)};
    case Op::rms_norm_vjp:
    case Op::layer_norm_vjp:
      return norm_vjp(call);
    case Op::rope:
      return {rope(call)};
    case Op::scaled_dot_product_attention:
      return {attention(call)};
    case Op::cross_entropy:
      return {fast::cross_entropy(in[0], in[1])};
    case Op::to_fp8:
      return {mx::to_fp8(in[0])};
    case Op::from_fp8:
      return {mx::from_fp8(in[0], call.dtype())};
    case Op::quantize:
    case Op::dequantize:
      return quantized(call);
    default:
      return {moment(call)};
  }
}

}  // namespace autoperfect::applying

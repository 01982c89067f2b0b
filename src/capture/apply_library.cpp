// Composites: MLX's library functions, `mlx.fast` and the transformations' own nodes.
#include <algorithm>
#include <limits>

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

array attend(const Call& call, const Arrays& in) {
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

// Of the scores of each query. MLX hands it to its own gradient only, so here it is computed.
array logsumexp(const Call& call, const Arrays& in) {
  auto q = mx::astype(in[0], mx::float32) * mx::array(static_cast<float>(call.number("scale")));
  auto k = mx::repeat(mx::astype(in[1], mx::float32), in[0].shape(1) / in[1].shape(1), 1);
  auto scores = mx::matmul(q, mx::swapaxes(k, -1, -2));
  int queries = scores.shape(-2), keys = scores.shape(-1);
  auto lowest = mx::array(-std::numeric_limits<float>::infinity());
  if (call.flag("causal"))
    scores = mx::where(mx::tri(queries, keys, keys - queries, mx::bool_), scores, lowest);
  bool sinks = call.flag("sinks");
  if (in.size() == (sinks ? 5u : 4u))
    scores = in[3].dtype() == mx::bool_ ? mx::where(in[3], scores, lowest) : scores + in[3];
  if (sinks) {
    auto column = mx::reshape(mx::astype(in.back(), mx::float32), {1, in[0].shape(1), 1, 1});
    auto shape = scores.shape();
    shape.back() = 1;
    scores = mx::concatenate({mx::broadcast_to(column, shape), scores}, -1);
  }
  return mx::logsumexp(scores, std::vector<int>{-1}, true);
}

Arrays attention(const Call& call) {
  Arrays out{attend(call, call.in)};
  if (call.flag("logsumexp")) out.push_back(logsumexp(call, call.in));
  return out;
}

Arrays attention_vjp(const Call& call) {
  Arrays parts(call.in.begin(), call.in.begin() + 3);
  auto forward = [&](const Arrays& qkv) {
    Arrays in(call.in.begin(), call.in.end() - 3);
    std::copy(qkv.begin(), qkv.end(), in.begin());
    return Arrays{attend(call, in)};
  };
  return mx::vjp(forward, parts, {call.in.back()}).second;
}

array cross_entropy_vjp(const Call& call) {
  auto loss = [&](const Arrays& in) { return Arrays{fast::cross_entropy(in[0], call.in[1])}; };
  return mx::vjp(loss, {call.in[0]}, {call.in[3]}).second[0];
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
      return attention(call);
    case Op::scaled_dot_product_attention_vjp:
      return attention_vjp(call);
    case Op::cross_entropy:
      return {fast::cross_entropy(in[0], in[1])};
    case Op::cross_entropy_vjp:
      return {cross_entropy_vjp(call)};
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

// softmax(scale * q k^T + mask) v of mx.fast. Where several heads of q share one of k and v, they are an axis
// of their own.
#include <limits>

#include "canonicalize/composer.h"

namespace autoperfect {

namespace {

// What MLX writes where a mask forbids: the lowest finite number.
double lowest(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return -65504.0;
    case Dtype::bf16:
      return -3.3895313892515355e38;
    case Dtype::f64:
      return std::numeric_limits<double>::lowest();
    default:
      return std::numeric_limits<float>::lowest();
  }
}

class Attention : Composer {
 public:
  Attention(Rewriter& to, const Draft& node)
      : Composer(to),
        node_(node),
        is_causal_(node.attributes.get_or("causal", false)),
        has_sinks_(node.attributes.get_or("sinks", false)),
        heads_(shape(node.operands[0])[1]),
        shared_(shape(node.operands[1])[1]) {}

  ValueId run() {
    const ValueId scale = constant(node_.attributes.get<double>("scale"), node_.type.dtype, "_factor");
    const ValueId q = grouped(add(Op::mul, {node_.operands[0], scale}, "_q"));
    const ValueId k = alone(node_.operands[1]), v = alone(node_.operands[2]);
    ValueId scores = add(Op::matmul, {q, swap_last_two(k, "_kt")}, "_scores");
    scores = masked(scores);
    if (has_sinks_) scores = with_sinks(scores);
    Attributes precise;
    precise.set("precise", true);
    ValueId weights = add(Op::softmax, {scores}, "_weights", std::move(precise));
    if (has_sinks_) weights = slice_last(weights, 1, shape(weights).back(), 1, "_kept");
    return reshape(add(Op::matmul, {weights, v}, "_mixed"), node_.type.shape);
  }

 private:
  bool is_grouped() const { return heads_ > shared_; }

  // [batch, heads, ...] -> [batch, shared, heads of each, ...]
  ValueId grouped(ValueId v) {
    if (!is_grouped()) return v;
    Shape split = shape(v);
    split[1] = heads_ / shared_;
    split.insert(split.begin() + 1, shared_);
    return reshape(v, std::move(split), "_groups");
  }

  ValueId alone(ValueId v) {
    if (!is_grouped()) return v;
    Shape one = shape(v);
    one.insert(one.begin() + 2, 1);
    return reshape(v, std::move(one), "_shared");
  }

  ValueId masked(ValueId scores) {
    const bool has_array = node_.operands.size() > (has_sinks_ ? 4u : 3u);
    if (!is_causal_ && !has_array) return scores;
    const ValueId mask = is_causal_ ? causal_mask(scores) : grouped(array_mask());
    if (dtype(mask) != Dtype::bool_) return add(Op::add, {scores, mask}, "_masked");
    const ValueId forbidden = constant(lowest(dtype(scores)), dtype(scores), "_lowest");
    return add(Op::select, {mask, scores, forbidden}, "_masked");
  }

  // One for each head.
  ValueId array_mask() {
    const Shape q = shape(node_.operands[0]), k = shape(node_.operands[1]);
    return to_.add_broadcast(node_.operands[3], {q[0], q[1], q[2], k[2]}, "_mask");
  }

  // The last query sees all keys, each before it one less.
  ValueId causal_mask(ValueId scores) {
    const int64_t queries = shape(scores).end()[-2], keys = shape(scores).end()[-1];
    const ValueId query =
        reshape(range(keys - queries, 1, queries, Dtype::i32, "_query"), {queries, 1}, "_rows");
    return add(Op::greater_equal, {query, range(0, 1, keys, Dtype::i32, "_key")}, "_visible");
  }

  // One more score a row, for nothing at all.
  ValueId with_sinks(ValueId scores) {
    Shape column = shape(scores), own(column.size(), 1);
    column.back() = 1;
    own[1] = is_grouped() ? shared_ : heads_;
    if (is_grouped()) own[2] = heads_ / shared_;
    const ValueId sinks = to_.add_broadcast(
        reshape(node_.operands.back(), std::move(own), "_sinks"), std::move(column), "_sink");
    return concatenate({sinks, scores}, rank(scores) - 1);
  }

  const Draft& node_;
  bool is_causal_, has_sinks_;
  int64_t heads_, shared_;
};

}  // namespace

std::optional<ValueId> lower_attention(Rewriter& to, const Draft& node) {
  if (to.type(node.operands[0]).rank() != 4) return std::nullopt;
  return Attention(to, node).run();
}

}  // namespace autoperfect

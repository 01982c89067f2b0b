// softmax(scale * q k^T + mask) v of mx.fast, and its gradient: the graph that MLX differentiates it to where
// it has no kernel of its own for it. Where several heads of q share one of k and v, they are an axis of
// their own.
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
  Attention(Rewriter& to, const NewNode& node)
      : Composer(to),
        node_(node),
        is_causal_(node.attributes.get_or("causal", false)),
        has_sinks_(node.attributes.get_or("sinks", false)),
        heads_(shape(node.operands[0])[1]),
        shared_(shape(node.operands[1])[1]) {}

  ValueId forward() {
    ValueId weights = softmax();
    if (has_sinks_) weights = without_sinks(weights);
    const Shape q = shape(node_.operands[0]), v = shape(node_.operands[2]);
    const ValueId mixed = add(Op::matmul, {weights, alone(node_.operands[2])}, "_mixed");
    return reshape(mixed, {q[0], q[1], q[2], v[3]});
  }

  ValueId logsumexp() {
    const Shape q = shape(node_.operands[0]);
    const ValueId total = add(Op::logsumexp, {scores()}, "_total");
    return reshape(cast(total, Dtype::f32), {q[0], q[1], q[2], 1});
  }

  // With respect to q, k and v.
  std::vector<ValueId> backward() {
    const ValueId g = grouped(node_.operands.back()), softmaxed = softmax();
    ValueId of_weights = add(Op::matmul, {g, swap_last_two(alone(node_.operands[2]), "_vt")}, "_of_weights");
    if (has_sinks_) of_weights = with_zeros_for_sinks(of_weights, shape(softmaxed));
    const ValueId products = add(Op::mul, {softmaxed, of_weights}, "_products");
    const ValueId dot = reduce_last(Op::sum, products, "_dot");
    ValueId of_scores = add(Op::sub, {products, add(Op::mul, {softmaxed, dot}, "_mean")}, "_of_scores");
    if (has_sinks_) of_scores = without_sinks(of_scores);
    if (const auto keeps = mask(of_scores); keeps && dtype(*keeps) == Dtype::bool_)
      of_scores = add(Op::mul, {of_scores, cast(*keeps, dtype(of_scores))}, "_masked");
    const ValueId of_q = add(Op::matmul, {of_scores, alone(node_.operands[1])}, "_of_q");
    const ValueId of_kt = add(Op::matmul, {swap_last_two(scaled_query()), of_scores}, "_of_kt");
    const ValueId weights = has_sinks_ ? without_sinks(softmaxed) : softmaxed;
    const ValueId of_v = add(Op::matmul, {swap_last_two(weights), g}, "_of_v");
    return {
        reshape(add(Op::mul, {of_q, scale()}, "_scaled"), shape(node_.operands[0])),
        reshape(swap_last_two(sum_of_sharing(of_kt)), shape(node_.operands[1])),
        reshape(sum_of_sharing(of_v), shape(node_.operands[2]))};
  }

 private:
  ValueId scale() { return constant(node_.attributes.get<double>("scale"), node_.type.dtype, "_factor"); }
  ValueId scaled_query() { return grouped(add(Op::mul, {node_.operands[0], scale()}, "_q")); }

  ValueId scores() {
    const ValueId kt = swap_last_two(alone(node_.operands[1]), "_kt");
    ValueId scores = add(Op::matmul, {scaled_query(), kt}, "_scores");
    if (const auto m = mask(scores)) {
      if (dtype(*m) == Dtype::bool_) {
        const ValueId forbidden = constant(lowest(dtype(scores)), dtype(scores), "_lowest");
        scores = add(Op::select, {*m, scores, forbidden}, "_masked");
      } else {
        scores = add(Op::add, {scores, *m}, "_masked");
      }
    }
    return has_sinks_ ? with_sinks(scores) : scores;
  }

  ValueId softmax() {
    Attributes precise;
    precise.set("precise", true);
    return add(Op::softmax, {scores()}, "_weights", std::move(precise));
  }

  ValueId without_sinks(ValueId v) { return slice_last(v, 1, shape(v).back(), 1, "_kept"); }

  // The gradient of a slice: zeros where it took nothing.
  ValueId with_zeros_for_sinks(ValueId v, const Shape& whole) {
    const auto last = static_cast<int64_t>(whole.size()) - 1;
    Attributes attributes;
    attributes.set("axes", std::vector<int64_t>{last});
    attributes.set("low", std::vector<int64_t>{1});
    attributes.set("high", std::vector<int64_t>{0});
    return add(Op::pad, {v, constant(0, dtype(v))}, "_padded", std::move(attributes));
  }

  // Over the heads of q that share one of k and v.
  ValueId sum_of_sharing(ValueId v) {
    if (!is_grouped()) return v;
    Attributes attributes;
    attributes.set("axes", std::vector<int64_t>{2});
    attributes.set("keepdims", true);
    return add(Op::sum, {v}, "_sum", std::move(attributes));
  }

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

  // Where scores are kept (bool), or what is added to them.
  std::optional<ValueId> mask(ValueId scores) {
    if (is_causal_) return causal_mask(scores);
    const bool has_array = inputs() > (has_sinks_ ? 4u : 3u);
    if (!has_array) return std::nullopt;
    return grouped(array_mask());
  }

  // Operands of attention itself: a gradient has three more.
  size_t inputs() const {
    return node_.operands.size() - (node_.op == Op::scaled_dot_product_attention ? 0 : 3);
  }

  // One for each head.
  ValueId array_mask() {
    const Shape q = shape(node_.operands[0]), k = shape(node_.operands[1]);
    return to_.add_broadcast(boolean_or_numbers(), {q[0], q[1], q[2], k[2]}, "_mask");
  }

  // Before MLX made numbers of it: where(mask, 0, -inf).
  ValueId boolean_or_numbers() {
    const ValueId given = node_.operands[3];
    if (!node_.attributes.get_or("of_bool", false)) return given;
    const Node* select = to_.producer(given);
    if (select && select->op == Op::broadcast) select = to_.producer(select->operands[0]);
    if (!select || select->op != Op::select) return given;
    const ValueId condition = select->operands[0];
    const Node* then = to_.producer(select->operands[1], Op::constant);
    const bool keeps = then && *then->attributes.find("value") == AttributeValue(0.0);
    return keeps ? condition : add(Op::logical_not, {condition}, "_kept");
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
        reshape(node_.operands[inputs() - 1], std::move(own), "_sinks"), std::move(column), "_sink");
    return concatenate({sinks, scores}, rank(scores) - 1);
  }

  const NewNode& node_;
  bool is_causal_, has_sinks_;
  int64_t heads_, shared_;
};

}  // namespace

std::optional<ValueId> lower_attention(Rewriter& to, const NewNode& node) {
  if (to.type(node.operands[0]).rank() != 4) return std::nullopt;
  return Attention(to, node).forward();
}

std::vector<ValueId> lower_attention_with_logsumexp(Rewriter& to, const NewNode& node) {
  Attention attention(to, node);
  return {attention.forward(), attention.logsumexp()};
}

std::vector<ValueId> lower_attention_vjp(Rewriter& to, const NewNode& node) {
  return Attention(to, node).backward();
}

}  // namespace autoperfect

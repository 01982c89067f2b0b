#include "fuse/recognize_attention.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/scalar_semantics.h"
#include "support/number.h"

namespace autoperfect {

namespace {

using Mask = AttentionMatch::Mask;

// Walks from the last contraction back to the operands. Each step says what it went over; nothing is undone,
// a walk that fails is dropped.
class Matcher {
 public:
  Matcher(const Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  std::optional<AttentionMatch> run(NodeId last) {
    const Node& mix = graph_.nodes[last];
    match_.result = mix.results[0];
    match_.v = mix.operands[1];
    cover(mix);
    ValueId scores = -1;
    if (!softmax(mix.operands[0], scores) || !masked_product(scores)) return std::nullopt;
    std::sort(match_.nodes.begin(), match_.nodes.end());
    match_.nodes.erase(std::unique(match_.nodes.begin(), match_.nodes.end()), match_.nodes.end());
    if (!is_closed()) return std::nullopt;
    return match_;
  }

 private:
  const Node* producer(ValueId v, Op op) const {
    const Node* node = graph_.producer(v);
    return node && node->op == op ? node : nullptr;
  }
  const Shape& shape(ValueId v) const { return graph_.type(v).shape; }

  void cover(const Node& node) { match_.nodes.push_back(graph_.values[node.results[0]].producer); }

  std::optional<double> constant(ValueId v) const {
    const Node* node = producer(v, Op::constant);
    const auto* value = node ? std::get_if<double>(node->attributes.find("value")) : nullptr;
    if (!value || graph_.type(v).rank() > 0) return std::nullopt;
    return round_to(graph_.type(v).dtype, *value);
  }

  // What `v` is a cast of, or `v`.
  ValueId before_cast(ValueId v) {
    const Node* cast = producer(v, Op::cast);
    if (!cast) return v;
    cover(*cast);
    return cast->operands[0];
  }

  // A reshape that leaves rows and columns as they are: batches and heads may be one axis or several.
  ValueId before_grouping(ValueId v) {
    const Node* view = producer(v, Op::reshape);
    if (!view) return v;
    const Shape &from = shape(view->operands[0]), &to = shape(v);
    const bool keeps_matrix =
        from.size() >= 2 && to.size() >= 2 && std::equal(from.end() - 2, from.end(), to.end() - 2);
    if (!keeps_matrix) return v;
    cover(*view);
    return view->operands[0];
  }

  bool reduces_last(const Node* node, ValueId of) const {
    if (!node || node->operands[0] != of || !node->attributes.get_or("keepdims", false)) return false;
    return node->attributes.get<std::vector<int64_t>>("axes") ==
           std::vector<int64_t>{graph_.type(of).rank() - 1};
  }

  // weights = exp(x - max(x)) times 1 / its sum, or over its sum, along the last axis
  bool softmax(ValueId weights, ValueId& x) {
    const ValueId normalized = before_cast(before_grouping(weights));
    const Node* scaled = producer(normalized, Op::mul);
    const Node* divided = producer(normalized, Op::div);
    const Node* last = scaled ? scaled : divided;
    if (!last) return false;
    cover(*last);
    const ValueId powers = last->operands[0];
    ValueId total = last->operands[1];
    if (scaled) {
      const Node* inverse = producer(total, Op::div);
      if (!inverse || constant(inverse->operands[0]) != 1.0) return false;
      cover(*inverse);
      total = inverse->operands[1];
    }
    const Node* sum = producer(total, Op::sum);
    const Node* exp = producer(powers, Op::exp);
    if (!exp || !reduces_last(sum, powers)) return false;
    const Node* shifted = producer(exp->operands[0], Op::sub);
    if (!shifted) return false;
    const ValueId wide = shifted->operands[0];
    const Node* max = producer(shifted->operands[1], Op::max);
    if (!reduces_last(max, wide)) return false;
    for (const Node* node : {sum, exp, shifted, max})
      cover(*node);
    x = before_cast(wide);
    match_.is_wide = x != wide;
    return true;
  }

  bool masked_product(ValueId scores) {
    scores = before_grouping(scores);
    if (producer(scores, Op::matmul) || is_scaled(scores)) return product(scores);
    if (const Node* added = producer(scores, Op::add)) {
      cover(*added);
      for (int i = 0; i < 2; ++i) {
        if (is_product(added->operands[i]))
          return set_mask(Mask::added, added->operands[1 - i]) && product(added->operands[i]);
      }
      return false;
    }
    const Node* chosen = producer(scores, Op::select);
    if (!chosen || !forbids(chosen->operands[2])) return false;
    cover(*chosen);
    const ValueId condition = chosen->operands[0];
    return set_mask(Mask::kept_where, condition) && product(chosen->operands[1]);
  }

  // So low that its exponential is zero beside any score: -1e9, which bf16 rounds up, and less.
  bool forbids(ValueId v) const {
    const auto value = constant(v);
    return value && *value <= (graph_.type(v).dtype == Dtype::f16 ? -60000.0 : -0.99e9);
  }

  bool set_mask(Mask kind, ValueId mask) {
    const bool causal = kind == Mask::kept_where && is_causal(mask);
    match_.mask_kind = causal ? Mask::causal : kind;
    match_.mask = causal ? -1 : mask;
    return true;
  }

  bool is_scaled(ValueId v) const {
    const Node* scaled = producer(v, Op::mul);
    return scaled && constant(scaled->operands[1]);
  }
  bool is_product(ValueId v) const {
    if (is_scaled(v)) v = graph_.producer(v)->operands[0];
    return producer(v, Op::matmul);
  }

  // scale * q k^T, scaled before or after
  bool product(ValueId v) {
    if (is_scaled(v)) v = without_scale(v);
    const Node* matmul = producer(v, Op::matmul);
    if (!matmul) return false;
    cover(*matmul);
    match_.q = before_scale(before_grouping_of_scaled(matmul->operands[0]));
    match_.k_transposed = before_scale(matmul->operands[1]);
    return true;
  }

  ValueId without_scale(ValueId v) {
    const Node& scaled = *graph_.producer(v);
    match_.scale *= *constant(scaled.operands[1]);
    cover(scaled);
    return scaled.operands[0];
  }

  // Of an operand, where only the match reads it scaled.
  ValueId before_scale(ValueId v) { return is_scaled(v) && is_private(v) ? without_scale(v) : v; }

  // The reshape of q belongs to the match where only the match reads it.
  ValueId before_grouping_of_scaled(ValueId v) { return is_private(v) ? before_grouping(v) : v; }

  bool is_private(ValueId v) const { return uses_.readers[v].size() == 1 && !uses_.is_output[v]; }

  // key <= query, with keys from 0 and queries up to the last key
  bool is_causal(ValueId condition) const {
    const Node* compared = producer(condition, Op::less_equal);
    if (!compared) return false;
    const ValueId key = compared->operands[0];
    ValueId query = compared->operands[1];
    const Node* column = producer(query, Op::reshape);
    const Shape& all = shape(condition);
    if (!column || all.size() != 2 || shape(query) != Shape{all[0], 1}) return false;
    query = column->operands[0];
    return counts_from(key, 0) && counts_from(query, all[1] - all[0]);
  }

  bool counts_from(ValueId v, int64_t first) const {
    const Node* range = producer(v, Op::arange);
    return range && range->attributes.get<double>("start") == static_cast<double>(first) &&
           range->attributes.get<double>("step") == 1;
  }

  // Nobody else reads what lies between.
  bool is_closed() const {
    auto covered = [&](NodeId n) { return std::binary_search(match_.nodes.begin(), match_.nodes.end(), n); };
    for (auto n : match_.nodes) {
      const ValueId v = graph_.nodes[n].results[0];
      if (v == match_.result) continue;
      const auto& readers = uses_.readers[v];
      if (uses_.is_output[v] || !std::all_of(readers.begin(), readers.end(), covered)) return false;
    }
    return true;
  }

  const Graph& graph_;
  const Uses& uses_;
  AttentionMatch match_;
};

}  // namespace

std::vector<AttentionMatch> recognize_attention(const Graph& graph) {
  const Uses uses = find_uses(graph);
  std::vector<AttentionMatch> matches;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op != Op::matmul) continue;
    if (auto match = Matcher(graph, uses).run(static_cast<NodeId>(n))) matches.push_back(std::move(*match));
  }
  return matches;
}

std::string describe(const Graph& graph, const AttentionMatch& match) {
  auto name = [&](ValueId v) { return "%" + graph.values[v].name; };
  std::string text = "attention: " + name(match.result) +
                     " may run as fast.scaled_dot_product_attention of " + name(match.q) + ", " +
                     name(match.k_transposed) + " (transposed), " + name(match.v) + ", scale " +
                     format_number(match.scale);
  switch (match.mask_kind) {
    case Mask::none:
      break;
    case Mask::causal:
      text += ", causal";
      break;
    case Mask::added:
      text += ", " + name(match.mask) + " added";
      break;
    case Mask::kept_where:
      text += ", where " + name(match.mask);
      break;
  }
  return text;
}

}  // namespace autoperfect

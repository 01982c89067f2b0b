// rms_norm, layer_norm and cross_entropy of mx.fast.
#include "canonicalize/composer.h"

namespace autoperfect {

namespace {

class Norm : Composer {
 public:
  Norm(Rewriter& to, const Draft& node) : Composer(to), node_(node) {}

  ValueId run() {
    const ValueId x = cast(node_.operands[0], Dtype::f32, "_wide");
    const ValueId centered =
        node_.op == Op::layer_norm ? add(Op::sub, {x, mean_of_last(x, "_mean")}, "_diff") : x;
    const ValueId square = add(Op::square, {centered}, "_square");
    const ValueId variance = mean_of_last(square, "_var");
    const ValueId eps = constant(node_.attributes.get<double>("eps"), Dtype::f32, "_eps");
    const ValueId scale = add(Op::rsqrt, {add(Op::add, {variance, eps}, "_shifted")}, "_scale");
    ValueId y = cast(add(Op::mul, {centered, scale}, "_normed"), node_.type.dtype, "_narrow");
    if (has(1)) y = add(Op::mul, {y, node_.operands[1]}, "_gained");
    if (has(2)) y = add(Op::add, {y, node_.operands[2]}, "_biased");
    return y;
  }

 private:
  // A weight or bias that the caller left out is a scalar.
  bool has(size_t i) const { return i < node_.operands.size() && rank(node_.operands[i]) > 0; }

  const Draft& node_;
};

}  // namespace

std::optional<ValueId> lower_norm(Rewriter& to, const Draft& node) {
  return Norm(to, node).run();
}

// logsumexp over the classes, less the logit of the target.
std::optional<ValueId> lower_cross_entropy(Rewriter& to, const Draft& node) {
  Composer with(to);
  const ValueId logits = node.operands[0];
  const ValueId total = with.add(Op::logsumexp, {logits}, "_total");
  Shape column = node.type.shape;
  column.push_back(1);
  Attributes axis;
  axis.set("axis", with.rank(logits) - 1);
  const ValueId target = with.reshape(node.operands[1], column, "_column");
  const ValueId chosen = with.add(Op::gather_axis, {logits, target}, "_chosen", std::move(axis));
  const ValueId loss = with.cast(with.add(Op::sub, {total, chosen}, "_loss"), Dtype::f32, "_wide");
  return with.reshape(loss, node.type.shape);
}

}  // namespace autoperfect

// rms_norm, layer_norm and cross_entropy of mx.fast, and their gradients: the graphs that MLX differentiates
// them to where it has no kernel of its own for them.
#include "canonicalize/composer.h"

namespace autoperfect {

namespace {

class Norm : Composer {
 public:
  Norm(Rewriter& to, const NewNode& node)
      : Composer(to),
        node_(node),
        is_layer_(node.op == Op::layer_norm || node.op == Op::layer_norm_vjp),
        weights_(is_layer_ ? 2 : 1) {
    const ValueId x = cast(node_.operands[0], Dtype::f32, "_wide");
    centered_ = is_layer_ ? add(Op::sub, {x, mean_of_last(x, "_mean")}, "_diff") : x;
    const ValueId variance = mean_of_last(add(Op::square, {centered_}, "_square"), "_var");
    const ValueId eps = constant(node_.attributes.get<double>("eps"), Dtype::f32, "_eps");
    shifted_ = add(Op::add, {variance, eps}, "_shifted");
    scale_ = add(Op::rsqrt, {shifted_}, "_scale");
  }

  ValueId forward() {
    ValueId y = normed();
    if (has(1)) y = add(Op::mul, {y, node_.operands[1]}, "_gained");
    if (has(2)) y = add(Op::add, {y, node_.operands[2]}, "_biased");
    return y;
  }

  // With respect to x, to the weight, and to the bias.
  std::vector<ValueId> backward() {
    const ValueId g = node_.operands.back();
    std::vector<ValueId> gradients{gradient_of_x(g)};
    gradients.push_back(has(1) ? sum_of_rows(add(Op::mul, {normed(), g}, "_weighted")) : nothing());
    if (is_layer_) gradients.push_back(has(2) ? sum_of_rows(g) : nothing());
    return gradients;
  }

 private:
  // A weight or bias that the caller left out is a scalar.
  bool has(size_t i) const { return i <= weights_ && rank(node_.operands[i]) > 0; }

  ValueId nothing() { return constant(0, node_.type.dtype, "_none"); }

  ValueId normed() { return cast(add(Op::mul, {centered_, scale_}, "_normed"), node_.type.dtype, "_narrow"); }

  ValueId gradient_of_x(ValueId g) {
    if (has(1)) g = add(Op::mul, {g, node_.operands[1]}, "_gained");
    g = cast(g, Dtype::f32, "_wide");
    const ValueId inverse = constant(1 / static_cast<double>(shape(g).back()), Dtype::f32, "_inv_n");
    const ValueId dot = reduce_last(Op::sum, add(Op::mul, {centered_, g}, "_products"), "_dot");
    const ValueId half = add(Op::mul, {dot, constant(-0.5, Dtype::f32)}, "_half");
    const ValueId slope = add(Op::mul, {add(Op::div, {scale_, shifted_}, "_ratio"), half}, "_slope");
    const ValueId mean = add(Op::mul, {slope, inverse}, "_mean");
    const ValueId twice = add(Op::mul, {mean, constant(2, Dtype::f32)}, "_twice");
    const ValueId of_variance = add(Op::mul, {centered_, twice}, "_of_variance");
    ValueId gradient = add(Op::add, {of_variance, add(Op::mul, {g, scale_}, "_scaled")}, "_gradient");
    if (is_layer_) {
      const ValueId sum = reduce_last(Op::sum, add(Op::neg, {gradient}, "_negated"), "_sum");
      gradient = add(Op::add, {gradient, add(Op::mul, {sum, inverse}, "_of_mean")}, "_gradient");
    }
    return cast(gradient, node_.type.dtype, "_narrow");
  }

  ValueId sum_of_rows(ValueId v) {
    const int64_t features = shape(v).back();
    if (to_.type(v).elements() == features) return reshape(v, {features}, "_row");
    std::vector<int64_t> axes;
    for (int64_t axis = 0; axis + 1 < rank(v); ++axis)
      axes.push_back(axis);
    Attributes attributes;
    attributes.set("axes", std::move(axes));
    return add(Op::sum, {v}, "_rows", std::move(attributes));
  }

  const NewNode& node_;
  bool is_layer_;
  size_t weights_;
  ValueId centered_ = -1, shifted_ = -1, scale_ = -1;
};

class CrossEntropy : Composer {
 public:
  CrossEntropy(Rewriter& to, const NewNode& node) : Composer(to), node_(node), logits_(node.operands[0]) {
    column_ = shape(node.operands[1]);
    column_.push_back(1);
    target_ = reshape(node.operands[1], column_, "_column");
    along_.set("axis", rank(logits_) - 1);
  }

  // logsumexp over the classes, less the logit of the target.
  ValueId forward() {
    const ValueId total = add(Op::logsumexp, {logits_}, "_total");
    const ValueId chosen = add(Op::gather_axis, {logits_, target_}, "_chosen", along_);
    const ValueId loss = cast(add(Op::sub, {total, chosen}, "_loss"), Dtype::f32, "_wide");
    return reshape(loss, node_.type.shape);
  }

  // softmax, less one at the target.
  ValueId backward() {
    const ValueId g = cast(node_.operands[3], dtype(logits_), "_narrow");
    Attributes precise, sum = along_;
    precise.set("precise", true);
    sum.set("reduce", std::string("sum"));
    const ValueId softmax = add(Op::softmax, {logits_}, "_softmax", std::move(precise));
    const ValueId of_total = add(Op::mul, {softmax, reshape(g, column_, "_shaped")}, "_of_total");
    const ValueId zeros = to_.add_broadcast(constant(0, dtype(logits_)), shape(logits_), "_zeros");
    const ValueId negated = reshape(add(Op::neg, {g}, "_negated"), column_, "_shaped");
    const ValueId of_chosen = add(Op::scatter_axis, {zeros, target_, negated}, "_of_chosen", std::move(sum));
    return add(Op::add, {of_total, of_chosen}, "_gradient");
  }

 private:
  const NewNode& node_;
  ValueId logits_, target_ = -1;
  Shape column_;
  Attributes along_;
};

}  // namespace

std::optional<ValueId> lower_norm(Rewriter& to, const NewNode& node) {
  return Norm(to, node).forward();
}

std::vector<ValueId> lower_norm_vjp(Rewriter& to, const NewNode& node) {
  return Norm(to, node).backward();
}

std::optional<ValueId> lower_cross_entropy(Rewriter& to, const NewNode& node) {
  CrossEntropy loss(to, node);
  return node.op == Op::cross_entropy ? loss.forward() : loss.backward();
}

}  // namespace autoperfect

// The words in which library functions are lowered: each adds a node to the graph that is written.
#pragma once

#include "canonicalize/rewriter.h"

namespace autoperfect {

class Composer {
 public:
  explicit Composer(Rewriter& to) : to_(to) {}

  const Shape& shape(ValueId v) const { return to_.shape(v); }
  Dtype dtype(ValueId v) const { return to_.type(v).dtype; }
  int64_t rank(ValueId v) const { return to_.type(v).rank(); }

  ValueId add(Op op, std::vector<ValueId> operands, const char* suffix, Attributes attributes = {}) {
    return to_.add(op, std::move(operands), std::move(attributes), suffix);
  }
  ValueId cast(ValueId v, Dtype dtype, const char* suffix = "_cast") {
    return to_.add_cast(v, dtype, suffix);
  }
  ValueId reshape(ValueId v, Shape shape, const char* suffix = "_shaped") {
    return to_.add_reshape(v, std::move(shape), suffix);
  }
  ValueId constant(double value, Dtype dtype, const char* suffix = "_c");  // rounded to the dtype
  ValueId reduce_last(Op op, ValueId v, const char* suffix);               // the axis stays with size 1
  ValueId mean_of_last(ValueId v, const char* suffix);
  ValueId range(int64_t first, int64_t step, int64_t size, Dtype dtype, const char* suffix = "_range");
  ValueId slice_last(ValueId v, int64_t first, int64_t stop, int64_t stride, const char* suffix);
  ValueId concatenate(std::vector<ValueId> parts, int64_t axis, const char* suffix = "_joined");
  ValueId swap_last_two(ValueId v, const char* suffix = "_turned");

 protected:
  Rewriter& to_;
};

// One family of library functions each, as MLX computes them where it has no kernel of its own for them;
// nothing where the node stays as it is.
std::optional<ValueId> lower_norm(Rewriter& to, const NewNode& node);
std::optional<ValueId> lower_rope(Rewriter& to, const NewNode& node);
std::optional<ValueId> lower_attention(Rewriter& to, const NewNode& node);
std::optional<ValueId> lower_cross_entropy(Rewriter& to, const NewNode& node);  // and its gradient

// The same for those of several results.
std::vector<ValueId> lower_norm_vjp(Rewriter& to, const NewNode& node);
std::vector<ValueId> lower_attention_with_logsumexp(Rewriter& to, const NewNode& node);
std::vector<ValueId> lower_attention_vjp(Rewriter& to, const NewNode& node);

}  // namespace autoperfect

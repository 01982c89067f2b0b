#include "canonicalize/composer.h"

#include <numeric>

#include "canonicalize/views.h"
#include "ir/scalar_semantics.h"

namespace autoperfect {

ValueId Composer::constant(double value, Dtype dtype, const char* suffix) {
  return to_.add_constant(round_to(dtype, value), dtype, suffix);
}

ValueId Composer::reduce_last(Op op, ValueId v, const char* suffix) {
  Attributes attributes;
  attributes.set("axes", std::vector<int64_t>{rank(v) - 1});
  attributes.set("keepdims", true);
  return add(op, {v}, suffix, std::move(attributes));
}

ValueId Composer::mean_of_last(ValueId v, const char* suffix) {
  const ValueId sum = reduce_last(Op::sum, v, "_sum");
  const ValueId inverse = constant(1 / static_cast<double>(shape(v).back()), dtype(v), "_inv_n");
  return add(Op::mul, {sum, inverse}, suffix);
}

ValueId Composer::range(int64_t first, int64_t step, int64_t size, Dtype dtype, const char* suffix) {
  Attributes attributes;
  attributes.set("start", static_cast<double>(first));
  attributes.set("step", static_cast<double>(step));
  attributes.set("size", size);
  attributes.set("dtype", dtype);
  return add(Op::arange, {}, suffix, std::move(attributes));
}

ValueId Composer::slice_last(ValueId v, int64_t first, int64_t stop, int64_t stride, const char* suffix) {
  std::vector<SliceRange> ranges;
  for (auto size : shape(v))
    ranges.push_back(whole(size));
  ranges.back() = {first, stride, (stop - first + stride - 1) / stride};
  return add(Op::slice, {v}, suffix, slice_attributes(ranges, shape(v)));
}

ValueId Composer::concatenate(std::vector<ValueId> parts, int64_t axis, const char* suffix) {
  Attributes attributes;
  attributes.set("axis", axis);
  return add(Op::concatenate, std::move(parts), suffix, std::move(attributes));
}

ValueId Composer::swap_last_two(ValueId v, const char* suffix) {
  std::vector<int64_t> axes(rank(v));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes.end()[-1], axes.end()[-2]);
  return to_.add_transpose(v, std::move(axes), suffix);
}

}  // namespace autoperfect

// Rotary position embedding: pairs of elements of the last axis turned by an angle that grows with the
// position.
#include <cmath>

#include "canonicalize/composer.h"

namespace autoperfect {

namespace {

class Rope : Composer {
 public:
  Rope(Rewriter& to, const NewNode& node)
      : Composer(to),
        node_(node),
        dims_(node.attributes.get<int64_t>("dims")),
        is_traditional_(node.attributes.get_or("traditional", false)),
        is_forward_(node.attributes.get_or("forward", true)) {}

  ValueId run() {
    const ValueId x = heads();
    const ValueId angle = angles(shape(x)[2]);
    const ValueId cosine = cast(add(Op::cos, {angle}, "_cos"), node_.type.dtype, "_cos_narrow");
    const ValueId sine = cast(add(Op::sin, {angle}, "_sin"), node_.type.dtype, "_sin_narrow");
    const ValueId turned = is_traditional_ ? turn_neighbours(x, cosine, sine) : turn_halves(x, cosine, sine);
    return reshape(is_forward_ ? turned : summed(turned), node_.type.shape);
  }

 private:
  struct Pair {
    ValueId first, second;
  };

  // The gradient is a sum, of each part among zeros: no zero in it is negative.
  ValueId summed(ValueId x) { return add(Op::add, {x, constant(0, node_.type.dtype, "_zero")}, "_sum"); }

  // [batch, heads, positions, elements]
  ValueId heads() {
    const ValueId x = node_.operands[0];
    const Shape own = shape(x);
    int64_t count = 1;
    for (size_t d = 1; d + 2 < own.size(); ++d)
      count *= own[d];
    return reshape(x, {own[0], count, own.end()[-2], own.end()[-1]}, "_heads");
  }

  ValueId angles(int64_t positions) {
    ValueId offset = node_.operands[1];
    if (to_.type(offset).elements() > 1) offset = reshape(offset, {shape(offset)[0], 1, 1}, "_offset");
    const ValueId place =
        add(Op::add,
            {range(0, 1, positions, Dtype::f32, "_positions"), cast(offset, Dtype::f32, "_offset_wide")},
            "_place");
    const ValueId scale = constant(node_.attributes.get<double>("scale"), Dtype::f32, "_position_scale");
    const ValueId scaled = add(Op::mul, {place, scale}, "_scaled");
    Shape column = shape(scaled);
    column.push_back(1);
    return add(Op::mul, {reshape(scaled, std::move(column), "_column"), frequencies()}, "_angle");
  }

  // Given ones are wave lengths; others fall geometrically from 1, computed as MLX does, in f32.
  ValueId frequencies() {
    if (node_.operands.size() > 2)
      return add(Op::div, {constant(1, Dtype::f32, "_one"), node_.operands[2]}, "_frequencies");
    const int64_t half = dims_ / 2;
    const auto base = static_cast<float>(node_.attributes.get<double>("base"));
    const float slope = std::log(base) / static_cast<float>(half);
    const ValueId steps = range(0, -1, half, Dtype::f32, "_steps");
    return add(
        Op::exp, {add(Op::mul, {steps, constant(slope, Dtype::f32, "_slope")}, "_powers")}, "_frequencies");
  }

  Pair turned(Pair x, ValueId cosine, ValueId sine) {
    auto times = [&](ValueId a, ValueId b) { return add(Op::mul, {a, b}, "_product"); };
    auto first = [&](Op op, ValueId factor_of_first, ValueId factor_of_second) {
      return add(op, {times(x.first, factor_of_first), times(x.second, factor_of_second)}, "_first");
    };
    auto second = [&](Op op, ValueId factor_of_first, ValueId factor_of_second) {
      return add(op, {times(x.second, factor_of_second), times(x.first, factor_of_first)}, "_second");
    };
    if (is_forward_) return {first(Op::sub, cosine, sine), second(Op::add, sine, cosine)};
    return {first(Op::add, cosine, sine), second(Op::sub, sine, cosine)};
  }

  ValueId turn_halves(ValueId x, ValueId cosine, ValueId sine) {
    const int64_t half = dims_ / 2;
    const Pair pair =
        turned({slice_last(x, 0, half, 1, "_low"), slice_last(x, half, dims_, 1, "_high")}, cosine, sine);
    return with_rest(x, {pair.first, pair.second});
  }

  ValueId turn_neighbours(ValueId x, ValueId cosine, ValueId sine) {
    const Pair pair =
        turned({slice_last(x, 0, dims_, 2, "_even"), slice_last(x, 1, dims_, 2, "_odd")}, cosine, sine);
    Shape column = shape(pair.first), whole_row = column;
    column.push_back(1);
    whole_row.back() = dims_;
    const ValueId pairs = concatenate({reshape(pair.first, column), reshape(pair.second, column)}, 4);
    return with_rest(x, {reshape(pairs, std::move(whole_row))});
  }

  // What lies behind the turned elements stays.
  ValueId with_rest(ValueId x, std::vector<ValueId> parts) {
    const int64_t size = shape(x).back();
    if (dims_ < size) parts.push_back(slice_last(x, dims_, size, 1, "_rest"));
    return concatenate(std::move(parts), 3);
  }

  const NewNode& node_;
  int64_t dims_;
  bool is_traditional_, is_forward_;
};

}  // namespace

std::optional<ValueId> lower_rope(Rewriter& to, const NewNode& node) {
  return Rope(to, node).run();
}

}  // namespace autoperfect

#include "reference/elementwise.h"

namespace autoperfect {

Scalar ElementSource::at(const std::vector<int64_t>& position) const {
  if (array) return array->at(walk.at(position));
  if (axis >= 0) return convert(Dtype::i64, dtype, {0, position[axis]});
  return scalar;
}

namespace {

// One operand along the innermost axis, from a position on.
class Along {
 public:
  Along(const ElementSource& source, const std::vector<int64_t>& from) : source_(source) {
    if (source.array) {
      element_ = source.walk.at(from);
      if (!from.empty()) step_ = source.walk.strides.back();
      is_real_ = is_floating(source.array->type.dtype);
    } else if (source.axis >= 0) {
      element_ = from[source.axis];
      step_ = source.axis + 1 == static_cast<int>(from.size());
    }
  }
  Scalar next() {
    int64_t element = element_;
    element_ += step_;
    if (is_real_) return {source_.array->reals[element], 0};
    if (source_.array) return source_.array->at(element);
    return source_.axis >= 0 ? convert(Dtype::i64, source_.dtype, {0, element}) : source_.scalar;
  }

 private:
  const ElementSource& source_;
  int64_t element_ = 0, step_ = 0;
  bool is_real_ = false;
};

}  // namespace

void elementwise(const ScalarOp& op, const std::vector<ElementSource>& operands, Array& out) {
  Shape outer = out.type.shape;
  int64_t length = 1;
  if (!outer.empty()) {
    length = outer.back();
    outer.back() = length > 0;
  }
  std::vector<Scalar> elements(operands.size());
  std::vector<Along> walks;
  int64_t element = 0;
  for_each_position(outer, [&](const std::vector<int64_t>& from) {
    walks.clear();
    for (const auto& operand : operands)
      walks.emplace_back(operand, from);
    for (int64_t k = 0; k < length; ++k) {
      for (size_t i = 0; i < walks.size(); ++i)
        elements[i] = walks[i].next();
      out.set(element++, apply(op, elements.data()));
    }
  });
}

}  // namespace autoperfect

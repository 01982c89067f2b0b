#include "reference/elementwise.h"

namespace autoperfect {

Scalar ElementSource::at(const std::vector<int64_t>& position) const {
  if (array) return array->at(walk.at(position));
  if (axis >= 0) return convert(Dtype::i64, dtype, {0, position[axis]});
  return scalar;
}

void elementwise(const ScalarOp& op, const std::vector<ElementSource>& operands, Array& out) {
  std::vector<Scalar> elements(operands.size());
  int64_t element = 0;
  for_each_position(out.type.shape, [&](const std::vector<int64_t>& position) {
    for (size_t i = 0; i < operands.size(); ++i)
      elements[i] = operands[i].at(position);
    out.set(element++, apply(op, elements.data()));
  });
}

}  // namespace autoperfect

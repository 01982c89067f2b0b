// A contraction as one matmul: axes of both factors are batches, and each factor's own axes and the reduced
// ones become one dimension each.
#include <algorithm>

#include "lower/raising.h"

namespace autoperfect {

ValueId Raising::contract(const KernelValue& value, const std::string& name) {
  const auto left = axes_of(kernel_, value.operands[0]), right = axes_of(kernel_, value.operands[1]);
  std::vector<AxisId> batch, rows, columns;
  for (auto axis : value.axes) {
    const bool in_left = std::binary_search(left.begin(), left.end(), axis);
    const bool in_right = std::binary_search(right.begin(), right.end(), axis);
    if (in_left && in_right) batch.push_back(axis);
    if (in_left && !in_right) rows.push_back(axis);
    if (!in_left && in_right) columns.push_back(axis);
  }
  auto elements = [this](const std::vector<AxisId>& axes) {
    return TensorType{Dtype::bool_, sizes_of(axes)}.elements();
  };
  // Over the three groups of axes in order, the batches each a dimension and the others one together.
  auto factor = [&](int i, const std::vector<AxisId>& second, const std::vector<AxisId>& third) {
    auto axes = batch;
    axes.insert(axes.end(), second.begin(), second.end());
    axes.insert(axes.end(), third.begin(), third.end());
    Shape shape = sizes_of(batch);
    shape.push_back(elements(second));
    shape.push_back(elements(third));
    const std::string factor_name = name + (i == 0 ? "_left" : "_right");
    return over(operand(value, i), axes, shape, factor_name);
  };
  auto axes = batch;
  axes.insert(axes.end(), rows.begin(), rows.end());
  axes.insert(axes.end(), columns.begin(), columns.end());
  const ValueId a = factor(0, rows, value.reduced), b = factor(1, value.reduced, columns);
  const ValueId product = spread_out(add(Op::matmul, {a, b}, name + "_product"), axes, name);
  return broadcast(reshaped(product, spread(axes), name), spread(value.axes), name);
}

}  // namespace autoperfect

// A constant is data, not a computation: it is available at once.
#include "capture/applying.h"

namespace autoperfect::applying {

namespace {

template <class T>
array filled(const std::vector<T>& values, const TensorType& type) {
  auto shape = Call::to_shape(type.shape);
  if (type.dtype == Dtype::c64) {
    std::vector<mx::complex64_t> pairs;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      pairs.emplace_back(static_cast<float>(values[i]), static_cast<float>(values[i + 1]));
    }
    pairs.resize(type.elements(), pairs.empty() ? mx::complex64_t{} : pairs.back());
    return array(pairs.begin(), shape, mx::complex64);
  }
  auto all = values;
  all.resize(type.elements(), values.empty() ? T{} : values.back());  // one number stands for all
  return array(all.begin(), shape, to_mlx(type.dtype));
}

}  // namespace

array constant(const Node& node, const TensorType& type) {
  const auto& value = *node.attributes.find("value");
  if (auto* flag = std::get_if<bool>(&value)) return filled(std::vector<int64_t>{*flag}, type);
  if (auto* integer = std::get_if<int64_t>(&value)) return filled(std::vector<int64_t>{*integer}, type);
  if (auto* number = std::get_if<double>(&value)) return filled(std::vector<double>{*number}, type);
  if (auto* integers = std::get_if<std::vector<int64_t>>(&value)) return filled(*integers, type);
  if (auto* numbers = std::get_if<std::vector<double>>(&value)) return filled(*numbers, type);
  throw InternalError("[capture] a constant without a number");
}

}  // namespace autoperfect::applying

#include "reference/array.h"

namespace autoperfect {

Array::Array(TensorType of) : type(std::move(of)) {
  const auto size = static_cast<size_t>(type.elements());
  const bool is_complex = type.dtype == Dtype::c64;
  is_floating(type.dtype) || is_complex ? reals.resize(size) : integers.resize(size);
  if (is_complex) imaginaries.resize(size);
}

Array array_of(const Tensor& tensor) {
  Array array(tensor.type);
  for (int64_t i = 0; i < tensor.type.elements(); ++i)
    array.set(i, tensor.scalar_at(i));
  return array;
}

Tensor tensor_of(const Array& array, Precision precision) {
  TensorType type = array.type;
  const bool floating = is_floating(type.dtype);
  if (floating && precision == Precision::oracle) type.dtype = Dtype::f64;
  Tensor tensor = Tensor::zeros(type);
  for (int64_t i = 0; i < type.elements(); ++i)
    tensor.set_scalar(i, array.at(i));
  return tensor;
}

Array converted(const Array& array, Dtype to, Precision precision) {
  Array out({to, array.type.shape});
  for (int64_t i = 0; i < array.type.elements(); ++i)
    out.set(i, convert(array.type.dtype, to, array.at(i), precision == Precision::exact));
  return out;
}

Walk broadcast_walk(const Shape& from, const Shape& to) {
  const auto strides = row_major_strides(from);
  Walk walk{0, std::vector<int64_t>(to.size(), 0)};
  const size_t missing = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1) walk.strides[missing + d] = strides[d];
  }
  return walk;
}

}  // namespace autoperfect

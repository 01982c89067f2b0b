// Small kernels run by the reference executor: what its tests share.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "ir/kernel_text.h"
#include "kernel_parts.h"
#include "reference/reference.h"

namespace autoperfect {

using Values = std::vector<double>;

inline Kernel parsed(const std::string& abi, const std::string& math, const std::string& accumulate = "f32") {
  return parse_or_throw(kernel_text(abi, math, numerics_text(accumulate)));
}

inline std::vector<Values> run(
    const Kernel& kernel, const std::vector<Tensor>& inputs, Precision precision = Precision::exact) {
  auto outputs = run_reference(kernel, inputs, precision);
  if (!outputs) throw std::runtime_error(format(outputs.errors()));
  std::vector<Values> values;
  for (const auto& tensor : *outputs)
    values.push_back(tensor.values());
  return values;
}

inline Tensor f32(const Shape& shape, const Values& values) {
  return Tensor::of({Dtype::f32, shape}, values);
}

}  // namespace autoperfect

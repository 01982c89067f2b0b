// Small kernels and numbers for tests of the gate's rule and its error bounds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gate/error_bound.h"
#include "ir/kernel_text.h"
#include "kernel_parts.h"

namespace autoperfect {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline const double nan_value = std::nan("");

inline Kernel parsed(const std::string& abi, const std::string& math) {
  return parse_or_throw(kernel_text(abi, math, numerics_text("f32", "1.0")));
}

inline Tensor vector(const std::vector<double>& values, Dtype dtype = Dtype::f32) {
  return Tensor::of({dtype, {static_cast<int64_t>(values.size())}}, values);
}

// y = x - 1, written through one value so that its error counts.
inline Kernel shifted(int64_t size, const std::string& op = "sub %t[i], 1.0") {
  std::string n = std::to_string(size);
  return parsed(
      "    in %x: f32[" + n + "] row\n    out %y: f32[" + n + "] row\n",
      "    axes i=" + n + "\n    %t[i] = mul %x[i], 3.0 : f32\n    %y[i] = " + op + " : f32\n");
}

inline std::vector<double> bounds_of(const Kernel& kernel, const std::vector<double>& x) {
  auto bounds = error_bounds(kernel, {vector(x)});
  EXPECT_TRUE(bounds) << (bounds ? "" : format(bounds.errors()));
  return bounds ? (*bounds)[0].values() : std::vector<double>(x.size(), -1);
}

}  // namespace autoperfect

// A dense row-major tensor in host memory, for references, gates and tests.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "ir/scalar_semantics.h"

namespace autoperfect {

struct Tensor {
  TensorType type;
  std::vector<unsigned char> bytes;

  static Tensor zeros(TensorType type);
  static Tensor of(TensorType type, const std::vector<double>& values);  // converted, rounded to nearest even

  double at(int64_t element) const;  // any dtype but c64, as double (64-bit integers may lose low bits)
  int64_t integer_at(int64_t element) const;  // integers and bool, exact (u64 as its bits)
  Scalar scalar_at(int64_t element) const;    // any dtype, exact
  void set(int64_t element, double value);    // converted as MLX's astype on the CPU does
  void set_integer(int64_t element, int64_t value);
  void set_scalar(int64_t element, Scalar value);  // floats rounded
  std::vector<double> values() const;
};

}  // namespace autoperfect

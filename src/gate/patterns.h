// How one tensor of an input family is filled.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/tensor.h"

namespace autoperfect {

enum class FloatPattern : uint8_t {
  normal,
  scaled,
  shifted,
  far_shifted,
  uniform,
  positive,
  negative,
  large,
  tiny,
  denormal,
  signed_zeros,
  equal,
  ties,
  late_outlier,
  blocks,
  thresholds,
  cancelling,
  scattered_specials,
  masked_rows,
  special_rows,
  listed,       // each element normal, or a number of the list
  listed_rows,  // each row one number of the list
};
enum class IntegerPattern : uint8_t { small, zero, negative, extreme, any, listed };

// xorshift64*: the same numbers on every machine, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_((seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) | 1) {}
  uint64_t bits();
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  double normal();

 private:
  uint64_t state_;
};

struct FillOptions {
  std::vector<double> literals;   // what the kernel compares or computes with: `thresholds` goes around them
  bool safe_integers = false;     // 1..7 only: the kernel divides, shifts or raises by integers
  int64_t index_size = 0;         // above 0: integers are indices of a dimension of that size
  bool keep_rows_normal = false;  // this tensor has no rows of its own (a vector beside matrices)
  std::vector<double> list;       // of `listed` and `listed_rows`: these, just below and just above
};

void fill(
    Tensor& tensor, FloatPattern floats, IntegerPattern integers, const FillOptions& options, Random& random);

}  // namespace autoperfect

// Scans: a running sum, product, maximum... along one axis, each step rounded to the dtype of the result as
// on MLX's CPU.
#pragma once

#include "reference/array.h"

namespace autoperfect {

struct ScanOp {
  Op op = Op::cumsum;
  bool inclusive = true;
  bool reverse = false;
  Precision precision = Precision::exact;
};
ScanOp scan_op(Op op, const Attributes& attributes, Precision precision);

// Along `axis` of `operand`; `result` is the dtype of the scan.
Array scan(const ScanOp& op, const Array& operand, int64_t axis, Dtype result);

}  // namespace autoperfect

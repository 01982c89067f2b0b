#include "reference/scan.h"

#include <cmath>
#include <limits>

#include "reference/reduce.h"
#include "support/result.h"

namespace autoperfect {

namespace {

// One step: what was scanned so far, and the next element.
class Step {
 public:
  Step(const ScanOp& scan, Dtype dtype)
      : op_(scan.op), dtype_(dtype), rounds_(scan.precision == Precision::exact) {}

  // What an exclusive scan starts from.
  Scalar start() const {
    switch (op_) {
      case Op::cumsum:
        return {0, 0};
      case Op::cumprod:
        return {1, 1};
      case Op::cummax:
        return start_of(Op::max, dtype_);
      case Op::cummin:
        return start_of(Op::min, dtype_);
      case Op::logcumsumexp:
        return {-std::numeric_limits<double>::infinity(), 0};
      default:
        throw InternalError("not a scan: " + std::string(name(op_)));
    }
  }

  Scalar operator()(Scalar before, Scalar element) const {
    const Scalar operands[] = {before, element};
    if (loses_nan() && (is_nan(before) || is_nan(element))) return {0, 0};
    switch (op_) {
      case Op::cumsum:
        return arithmetic(Op::add, operands);
      case Op::cumprod:
        return arithmetic(Op::mul, operands);
      case Op::logcumsumexp:
        return arithmetic(Op::logaddexp, operands);
      // Of equals, such as 0.0 and -0.0, a maximum is the later one and a minimum the earlier one.
      case Op::cummax:
        return is_nan(before) || less(dtype_, element, before) ? before : element;
      default:
        return is_nan(before) || !(is_nan(element) || less(dtype_, element, before)) ? before : element;
    }
  }

 private:
  Scalar arithmetic(Op op, const Scalar* operands) const {
    return apply({op, dtype_, dtype_, rounds_, false}, operands);
  }
  // MLX's scans of halves take the NaN of a numeric_limits that knows no halves, which is 0.
  bool loses_nan() const {
    const bool is_half = dtype_ == Dtype::f16 || dtype_ == Dtype::bf16;
    return rounds_ && is_half && (op_ == Op::cummax || op_ == Op::cummin);
  }
  bool is_nan(Scalar x) const { return is_floating(dtype_) && std::isnan(x.real); }

  Op op_;
  Dtype dtype_;
  bool rounds_;
};

}  // namespace

ScanOp scan_op(Op op, const Attributes& attributes, Precision precision) {
  return {op, attributes.get_or("inclusive", true), attributes.get_or("reverse", false), precision};
}

Array scan(const ScanOp& op, const Array& operand, int64_t axis, Dtype result) {
  const Step step(op, result);
  const auto strides = row_major_strides(operand.type.shape);
  const int64_t count = operand.type.shape[axis], stride = op.reverse ? -strides[axis] : strides[axis];
  Shape others = operand.type.shape;
  others[axis] = 1;
  Array out({result, operand.type.shape});
  if (count == 0) return out;
  for_each_position(others, [&](const std::vector<int64_t>& position) {
    int64_t at = Walk{0, strides}.at(position) + (op.reverse ? (count - 1) * strides[axis] : 0);
    Scalar state = step.start();
    for (int64_t i = 0; i < count; ++i, at += stride) {
      const Scalar element = convert(operand.type.dtype, result, operand.at(at), false);
      const Scalar next = op.inclusive && i == 0 ? element : step(state, element);
      out.set(at, op.inclusive ? next : state);
      state = next;
    }
  });
  return out;
}

}  // namespace autoperfect

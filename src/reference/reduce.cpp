#include "reference/reduce.h"

#include <cmath>
#include <limits>

#include "support/result.h"

namespace autoperfect {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_argument(Op op) {
  return op == Op::argmax || op == Op::argmin;
}

// Of integers and bool; a floating reduction starts from infinities.
int64_t largest(Dtype dtype) {
  if (is_floating(dtype)) return 0;
  if (dtype == Dtype::bool_) return 1;
  if (dtype == Dtype::u64) return -1;  // as bits
  const int bits = static_cast<int>(size_of(dtype)) * 8 - (is_signed_integer(dtype) ? 1 : 0);
  return static_cast<int64_t>((uint64_t{1} << bits) - 1);
}
int64_t smallest(Dtype dtype) {
  return is_signed_integer(dtype) ? -largest(dtype) - 1 : 0;
}

}  // namespace

Scalar start_of(Op op, Dtype operand) {
  switch (op) {
    case Op::prod:
      return {1, 1};
    case Op::all:
      return {0, 1};
    case Op::max:
      return {-infinity, smallest(operand), -infinity};
    case Op::min:
      return {infinity, largest(operand), infinity};
    default:
      return {};
  }
}

bool is_nan(Dtype dtype, Scalar x) {
  if (dtype == Dtype::c64) return std::isnan(x.real) || std::isnan(x.imaginary);
  return is_floating(dtype) && std::isnan(x.real);
}

bool less(Dtype dtype, Scalar a, Scalar b) {
  if (dtype == Dtype::c64) return a.real < b.real || (a.real == b.real && a.imaginary < b.imaginary);
  if (is_floating(dtype)) return a.real < b.real;
  if (dtype == Dtype::u64) return static_cast<uint64_t>(a.integer) < static_cast<uint64_t>(b.integer);
  return a.integer < b.integer;
}

Reduction::Reduction(Op op, Dtype operand, Dtype result, Dtype accumulate, Precision precision)
    : op_(op),
      operand_(operand),
      result_(result),
      accumulate_(operand == Dtype::f64 ? Dtype::f64 : accumulate),
      rounds_(precision == Precision::exact),
      state_(start_of(op, operand)) {}

// The first of equals is found, and the first NaN before all else.
bool Reduction::is_before(Scalar element) const {
  if (is_nan(operand_, state_)) return false;
  if (is_nan(operand_, element)) return true;
  return op_ == Op::argmax ? less(operand_, state_, element) : less(operand_, element, state_);
}

void Reduction::add(Scalar element) {
  if (is_argument(op_)) {
    if (count_ == 0 || is_before(element)) {
      state_ = element;
      found_ = count_;
    }
  } else if (op_ == Op::any || op_ == Op::all) {
    const bool truth = convert(operand_, Dtype::bool_, element).integer != 0;
    state_.integer = op_ == Op::any ? state_.integer | truth : state_.integer & truth;
  } else if (operand_ == Dtype::c64) {
    add_complex(element);
  } else if (is_floating(operand_)) {
    add_floating(element.real);
  } else {
    add_integer(element.integer);
  }
  ++count_;
}

void Reduction::add_floating(double x) {
  double& state = state_.real;
  switch (op_) {
    case Op::sum:
      state = rounds_ ? round_to(accumulate_, state + x) : state + x;
      return;
    case Op::prod:
      state = rounds_ ? round_to(accumulate_, state * x) : state * x;
      return;
    case Op::max:
      state = std::isnan(x) || x > state ? x : state;
      return;
    case Op::min:
      state = std::isnan(x) || x < state ? x : state;
      return;
    default:
      throw InternalError("not a reduction: " + std::string(name(op_)));
  }
}

// Of NaN, MLX keeps no imaginary part.
void Reduction::add_complex(Scalar x) {
  if (op_ == Op::sum || op_ == Op::prod) {
    const Scalar operands[] = {state_, x};
    state_ = apply({op_ == Op::sum ? Op::add : Op::mul, operand_, operand_, rounds_}, operands);
  } else if (is_nan(operand_, x)) {
    state_ = {std::nan("")};
  } else if (op_ == Op::max ? less(operand_, state_, x) : less(operand_, x, state_)) {
    state_ = x;
  }
}

void Reduction::add_integer(int64_t x) {
  const auto state = static_cast<uint64_t>(state_.integer), element = static_cast<uint64_t>(x);
  switch (op_) {
    case Op::sum:
      state_.integer = static_cast<int64_t>(state + element);
      return;
    case Op::prod:
      state_.integer = static_cast<int64_t>(state * element);
      return;
    case Op::max:
      state_ = less(operand_, state_, {0, x}) ? Scalar{0, x} : state_;
      return;
    case Op::min:
      state_ = less(operand_, {0, x}, state_) ? Scalar{0, x} : state_;
      return;
    default:
      throw InternalError("not a reduction: " + std::string(name(op_)));
  }
}

Scalar Reduction::result() const {
  if (is_argument(op_)) return {0, found_};
  if (result_ == Dtype::c64) return state_;
  if (is_floating(result_)) return {rounds_ ? round_to(result_, state_.real) : state_.real, 0};
  return {0, wrap_to(result_, state_.integer)};
}

SumOfProducts::SumOfProducts(Dtype result, Dtype accumulate, Precision precision)
    : result_(result),
      accumulate_(result == Dtype::f64 ? Dtype::f64 : accumulate),
      rounds_(precision == Precision::exact) {}

void SumOfProducts::add(Scalar a, Scalar b) {
  real_ += a.real * b.real;
  if (result_ == Dtype::c64) {
    real_ -= a.imaginary * b.imaginary;
    imaginary_ += a.real * b.imaginary + a.imaginary * b.real;
  }
  if (!rounds_) return;
  real_ = round_to(accumulate_, real_);
  imaginary_ = round_to(accumulate_, imaginary_);
}

Scalar SumOfProducts::result() const {
  return convert(result_ == Dtype::c64 ? Dtype::c64 : Dtype::f64, result_, {real_, 0, imaginary_}, rounds_);
}

Array reduce(
    const Node& node, const Array& operand, const TensorType& result, Dtype accumulate, Precision precision) {
  const Shape& shape = operand.type.shape;
  const auto axes = is_argument(node.op) ? std::vector<int64_t>{node.attributes.get<int64_t>("axis")}
                                         : node.attributes.get<std::vector<int64_t>>("axes");
  const auto strides = row_major_strides(shape);
  Shape kept, reduced;
  Walk over_kept, over_reduced;
  for (size_t d = 0, next = 0; d < shape.size(); ++d) {
    const bool is_reduced = next < axes.size() && axes[next] == static_cast<int64_t>(d);
    next += is_reduced;
    (is_reduced ? reduced : kept).push_back(shape[d]);
    (is_reduced ? over_reduced : over_kept).strides.push_back(strides[d]);
  }
  Array out(result);
  int64_t element = 0;
  for_each_position(kept, [&](const std::vector<int64_t>& outer) {
    Reduction reduction(node.op, operand.type.dtype, result.dtype, accumulate, precision);
    for_each_position(reduced, [&](const std::vector<int64_t>& inner) {
      reduction.add(operand.at(over_kept.at(outer) + over_reduced.at(inner)));
    });
    out.set(element++, reduction.result());
  });
  return out;
}

}  // namespace autoperfect

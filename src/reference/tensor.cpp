#include "reference/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "support/result.h"

namespace autoperfect {

namespace {

template <class T>
T read(const Tensor& tensor, int64_t element) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + element * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void write(Tensor& tensor, int64_t element, T value) {
  std::memcpy(tensor.bytes.data() + element * sizeof(T), &value, sizeof(T));
}

double from_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double magnitude;
  if (exponent == 31) {
    magnitude = mantissa ? std::nan("") : HUGE_VAL;
  } else {
    magnitude = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
  }
  return std::copysign(magnitude, bits & 0x8000 ? -1.0 : 1.0);
}

// `value` is already one of f16's.
uint16_t to_f16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (magnitude < std::ldexp(1, -14)) return sign | static_cast<uint16_t>(std::ldexp(magnitude, 24));
  const int exponent = std::ilogb(magnitude);
  const int mantissa = static_cast<int>(std::ldexp(magnitude, 10 - exponent)) - 1024;
  return sign | static_cast<uint16_t>((exponent + 15) << 10 | mantissa);
}

double from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t to_bf16(double value) {
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

double read_floating(const Tensor& tensor, int64_t element) {
  switch (tensor.type.dtype) {
    case Dtype::f16:
      return from_f16(read<uint16_t>(tensor, element));
    case Dtype::bf16:
      return from_bf16(read<uint16_t>(tensor, element));
    case Dtype::f32:
      return read<float>(tensor, element);
    case Dtype::f64:
      return read<double>(tensor, element);
    default:
      throw InternalError("complex tensors have no host elements");
  }
}

void write_floating(Tensor& tensor, int64_t element, double value) {
  switch (tensor.type.dtype) {
    case Dtype::f16:
      return write(tensor, element, to_f16(value));
    case Dtype::bf16:
      return write(tensor, element, to_bf16(value));
    case Dtype::f32:
      return write(tensor, element, static_cast<float>(value));
    case Dtype::f64:
      return write(tensor, element, value);
    default:
      throw InternalError("complex tensors have no host elements");
  }
}

}  // namespace

Tensor Tensor::zeros(TensorType type) {
  Tensor tensor;
  tensor.bytes.resize(static_cast<size_t>(type.bytes()));
  tensor.type = std::move(type);
  return tensor;
}

Tensor Tensor::of(TensorType type, const std::vector<double>& values) {
  Tensor tensor = zeros(std::move(type));
  if (static_cast<int64_t>(values.size()) != tensor.type.elements()) {
    throw std::invalid_argument("[Tensor::of] the number of values is not that of the shape");
  }
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

double Tensor::at(int64_t element) const {
  if (is_integer(type.dtype) || type.dtype == Dtype::bool_) {
    const int64_t value = integer_at(element);
    return type.dtype == Dtype::u64 ? static_cast<double>(static_cast<uint64_t>(value))
                                    : static_cast<double>(value);
  }
  return read_floating(*this, element);
}

int64_t Tensor::integer_at(int64_t element) const {
  switch (type.dtype) {
    case Dtype::bool_:
      return read<uint8_t>(*this, element) != 0;
    case Dtype::u8:
      return read<uint8_t>(*this, element);
    case Dtype::u16:
      return read<uint16_t>(*this, element);
    case Dtype::u32:
      return read<uint32_t>(*this, element);
    case Dtype::u64:
    case Dtype::i64:
      return read<int64_t>(*this, element);
    case Dtype::i8:
      return read<int8_t>(*this, element);
    case Dtype::i16:
      return read<int16_t>(*this, element);
    case Dtype::i32:
      return read<int32_t>(*this, element);
    default:
      throw InternalError("integer_at() of a floating tensor");
  }
}

Scalar Tensor::scalar_at(int64_t element) const {
  if (is_floating(type.dtype)) return {at(element)};
  if (type.dtype != Dtype::c64) return {0, integer_at(element)};
  return {read<float>(*this, 2 * element), 0, read<float>(*this, 2 * element + 1)};
}

void Tensor::set(int64_t element, double value) {
  if (type.dtype == Dtype::c64) return set_scalar(element, {value});
  if (is_integer(type.dtype) || type.dtype == Dtype::bool_) {
    return set_integer(element, convert(Dtype::f64, type.dtype, {value, 0}).integer);
  }
  write_floating(*this, element, round_to(type.dtype, value));
}

void Tensor::set_integer(int64_t element, int64_t value) {
  value = wrap_to(type.dtype, value);
  switch (size_of(type.dtype)) {
    case 1:
      return write(*this, element, static_cast<uint8_t>(value));
    case 2:
      return write(*this, element, static_cast<uint16_t>(value));
    case 4:
      return write(*this, element, static_cast<uint32_t>(value));
    default:
      return write(*this, element, value);
  }
}

void Tensor::set_scalar(int64_t element, Scalar value) {
  if (is_floating(type.dtype)) return set(element, value.real);
  if (type.dtype != Dtype::c64) return set_integer(element, value.integer);
  write(*this, 2 * element, static_cast<float>(value.real));
  write(*this, 2 * element + 1, static_cast<float>(value.imaginary));
}

std::vector<double> Tensor::values() const {
  std::vector<double> all(static_cast<size_t>(type.elements()));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = at(static_cast<int64_t>(i));
  return all;
}

}  // namespace autoperfect

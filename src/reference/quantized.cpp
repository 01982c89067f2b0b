#include "reference/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace autoperfect {

namespace {

struct Packing {
  int64_t bits, group_size;
  explicit Packing(const Node& node)
      : bits(node.attributes.get<int64_t>("bits")), group_size(node.attributes.get<int64_t>("group_size")) {}
  int64_t highest() const { return (int64_t{1} << bits) - 1; }
};

// The codes of a row lie one after the other in its bits, the lowest first, whatever words these are in.
int64_t code_at(const Array& packed, int64_t first_word, int64_t n, const Packing& packing) {
  int64_t code = 0;
  for (int64_t bit = 0; bit < packing.bits; ++bit) {
    const int64_t place = n * packing.bits + bit;
    code |= (packed.integers[first_word + place / 32] >> place % 32 & 1) << bit;
  }
  return code;
}

void set_code(Array& packed, int64_t first_word, int64_t n, const Packing& packing, int64_t code) {
  for (int64_t bit = 0; bit < packing.bits; ++bit) {
    const int64_t place = n * packing.bits + bit;
    packed.integers[first_word + place / 32] |= (code >> bit & 1) << place % 32;
  }
}

struct Scale {
  double scale, bias;
};

// The end of the group that is farther from zero is exact, and so is zero where it lies between. NaN is no
// end.
Scale scale_of(const double* group, const Packing& packing, Precision precision) {
  auto round = [&](double x) { return precision == Precision::exact ? round_to(Dtype::f32, x) : x; };
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (int64_t i = 0; i < packing.group_size; ++i) {
    least = std::fmin(least, group[i]);
    most = std::fmax(most, group[i]);
  }
  const bool lower = std::fabs(least) > std::fabs(most);
  const double steps = static_cast<double>(packing.highest());
  const double size = std::max(round(round(most - least) / steps), round_to(Dtype::f32, 1e-7));
  const double scale = lower ? size : -size, edge = lower ? least : most;
  const double count = std::nearbyint(round(edge / scale));
  if (count == 0) return {scale, 0};
  return {round(edge / count), edge};
}

}  // namespace

bool is_affine(const Node& node) {
  return node.attributes.get<std::string>("mode") == "affine";
}

std::vector<Array> quantize(
    const Node& node, const Array& w, const std::vector<TensorType>& results, Precision precision) {
  auto round = [&](double x) { return precision == Precision::exact ? round_to(Dtype::f32, x) : x; };
  const Packing packing(node);
  const int64_t columns = w.type.shape.back(), words = results[0].shape.back();
  Array packed(results[0]), scales(results[1]), biases(results[2]);
  for (int64_t g = 0; g < scales.type.elements(); ++g) {
    const int64_t begin = g * packing.group_size, row = begin / columns;
    const auto [scale, bias] = scale_of(&w.reals[begin], packing, precision);
    for (int64_t i = begin; i < begin + packing.group_size; ++i) {
      const double code = std::nearbyint(round(round(w.reals[i] - bias) / scale));
      const double inside = std::clamp(code, 0.0, static_cast<double>(packing.highest()));
      const int64_t bits = std::isnan(code) ? 0 : static_cast<int64_t>(inside);
      set_code(packed, row * words, i % columns, packing, bits);
    }
    const Dtype dtype = scales.type.dtype;
    scales.set(g, convert(Dtype::f32, dtype, {scale}, precision == Precision::exact));
    biases.set(g, convert(Dtype::f32, dtype, {bias}, precision == Precision::exact));
  }
  return {packed, scales, biases};
}

Array dequantize(
    const Node& node, const Array& packed, const Array& scales, const Array& biases, Precision precision) {
  const Packing packing(node);
  const Dtype dtype = scales.type.dtype;
  auto round = [&](double x) { return precision == Precision::exact ? round_to(dtype, x) : x; };
  const int64_t groups = scales.type.shape.back(), columns = groups * packing.group_size;
  TensorType type{dtype, scales.type.shape};
  type.shape.back() = columns;
  Array out(type);
  for (int64_t i = 0; i < type.elements(); ++i) {
    const int64_t row = i / columns, group = i / packing.group_size;
    const int64_t code = code_at(packed, row * packed.type.shape.back(), i % columns, packing);
    const double scaled = round(round(static_cast<double>(code)) * scales.reals[group]);
    out.reals[i] = round(scaled + biases.reals[group]);
  }
  return out;
}

Array to_fp8(const Array& x) {
  Array out({Dtype::u8, x.type.shape});
  for (int64_t i = 0; i < x.type.elements(); ++i) {
    const double given = round_to(Dtype::f32, x.reals[i]), size = std::fabs(given);
    int64_t code = 0x7e;  // 448, also for infinity and NaN
    if (size < 464) {     // half way to what would come next
      const int exponent = size < 0x1p-6 ? -6 : std::ilogb(size);
      const auto steps = static_cast<int64_t>(std::nearbyint(std::ldexp(size, 3 - exponent)));
      code = (size < 0x1p-6 ? 0 : (exponent + 6) * 8) + steps;  // a step more than 15 is the next exponent
    }
    out.integers[i] = code + (std::signbit(given) ? 128 : 0);
  }
  return out;
}

Array from_fp8(const Array& codes, Dtype dtype) {
  Array out({dtype, codes.type.shape});
  for (int64_t i = 0; i < codes.type.elements(); ++i) {
    const int64_t code = codes.integers[i] & 127, exponent = code / 8, mantissa = code % 8;
    const double size =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, static_cast<int>(exponent) - 10);
    out.reals[i] = round_to(dtype, codes.integers[i] & 128 ? -size : size);
  }
  return out;
}

}  // namespace autoperfect

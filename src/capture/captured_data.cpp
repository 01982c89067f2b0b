#include "capture/captured_data.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "mlx/ops.h"
#include "support/hash.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;

// A NaN prints as `nan`: only the one it reads back as is exact.
template <class T>
std::optional<AttributeValue> exact_float(const mx::array& data) {
  T stored = *data.data<T>();
  auto value = static_cast<double>(static_cast<float>(stored));
  if constexpr (sizeof(T) == 8) value = stored;
  T again = static_cast<T>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
  if (std::memcmp(&stored, &again, sizeof(T)) != 0) return std::nullopt;
  return AttributeValue{value};
}

std::optional<AttributeValue> exact_complex(const mx::array& data) {
  auto stored = *data.data<mx::complex64_t>();
  if (std::isnan(stored.real()) || std::isnan(stored.imag())) return std::nullopt;
  return AttributeValue{std::vector<double>{stored.real(), stored.imag()}};
}

template <class T>
AttributeValue integer(const mx::array& data) {
  return static_cast<int64_t>(*data.data<T>());
}

}  // namespace

std::optional<AttributeValue> exact_constant(const mx::array& data) {
  if (data.size() != 1) return std::nullopt;
  switch (from_mlx(data.dtype())) {
    case Dtype::bool_:
      return *data.data<bool>();
    case Dtype::u8:
      return integer<uint8_t>(data);
    case Dtype::u16:
      return integer<uint16_t>(data);
    case Dtype::u32:
      return integer<uint32_t>(data);
    case Dtype::i8:
      return integer<int8_t>(data);
    case Dtype::i16:
      return integer<int16_t>(data);
    case Dtype::i32:
      return integer<int32_t>(data);
    case Dtype::i64:
      return integer<int64_t>(data);
    case Dtype::u64:
      if (*data.data<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return std::nullopt;
      return integer<uint64_t>(data);
    case Dtype::f16:
      return exact_float<mx::float16_t>(data);
    case Dtype::bf16:
      return exact_float<mx::bfloat16_t>(data);
    case Dtype::f32:
      return exact_float<float>(data);
    case Dtype::f64:
      return exact_float<double>(data);
    case Dtype::c64:
      return exact_complex(data);
  }
  return std::nullopt;
}

std::string content_hash(const mx::array& data) {
  std::string head(name(from_mlx(data.dtype())));
  for (auto size : data.shape())
    head += "," + std::to_string(size);
  auto rows = data;
  if (!data.flags().row_contiguous) {
    rows = mx::contiguous(data);
    rows.eval();
  }
  auto bytes = data.size() == 0 ? std::string_view{} : std::string_view(rows.data<char>(), rows.nbytes());
  return hash_hex(head + ":" + hash_hex(bytes));
}

}  // namespace autoperfect

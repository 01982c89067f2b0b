#include "ir/dtype.h"

namespace autoperfect {

namespace {

struct DtypeRow {
  std::string_view text;
  int64_t size;
};

// In the order of the enumeration.
constexpr DtypeRow rows[] = {
    {"bool", 1},
    {"u8", 1},
    {"u16", 2},
    {"u32", 4},
    {"u64", 8},
    {"i8", 1},
    {"i16", 2},
    {"i32", 4},
    {"i64", 8},
    {"f16", 2},
    {"bf16", 2},
    {"f32", 4},
    {"f64", 8},
    {"c64", 8},
};

}  // namespace

std::string_view name(Dtype dtype) {
  return rows[static_cast<size_t>(dtype)].text;
}
int64_t size_of(Dtype dtype) {
  return rows[static_cast<size_t>(dtype)].size;
}

std::optional<Dtype> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < std::size(rows); ++i) {
    if (rows[i].text == text) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

}  // namespace autoperfect

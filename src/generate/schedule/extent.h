// A number of elements that is known when a kernel is launched: a sum of products of numbers and of what
// `dims` tells (d0, d1, ...: sizes of dynamic axes, then free strides; see layout.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace autoperfect::schedule {

class Extent {
 public:
  Extent(int64_t fixed = 0) { add({}, fixed); }
  static Extent dim(size_t place);

  bool operator==(const Extent&) const = default;
  bool is(int64_t n) const { return is_fixed() && fixed() == n; }
  bool is_fixed() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
  int64_t fixed() const;                 // the part without dims
  bool is_multiple_of(int64_t n) const;  // whatever the dims are

  Extent plus(const Extent& other) const;
  Extent times(const Extent& other) const;
  Extent in_units(size_t place, int64_t unit) const;  // the dim of that place then counts units of so many

  std::string text() const;  // 64, d0, (d0 * d1 * 64 + 3)

 private:
  using Dims = std::vector<int>;  // ascending; their product
  void add(Dims dims, int64_t factor);

  std::map<Dims, int64_t> terms_;  // factor of each product, none 0
};

}  // namespace autoperfect::schedule

#include "generate/schedule/extent.h"

#include <algorithm>

namespace autoperfect::schedule {

Extent Extent::dim(size_t place) {
  Extent extent;
  extent.add({static_cast<int>(place)}, 1);
  return extent;
}

void Extent::add(Dims dims, int64_t factor) {
  if (factor == 0) return;
  std::sort(dims.begin(), dims.end());
  int64_t& term = terms_[dims];
  term += factor;
  if (term == 0) terms_.erase(dims);
}

int64_t Extent::fixed() const {
  auto found = terms_.find({});
  return found == terms_.end() ? 0 : found->second;
}

bool Extent::is_multiple_of(int64_t n) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const auto& term) { return term.second % n == 0; });
}

Extent Extent::plus(const Extent& other) const {
  Extent sum = *this;
  for (const auto& [dims, factor] : other.terms_)
    sum.add(dims, factor);
  return sum;
}

Extent Extent::times(const Extent& other) const {
  Extent product;
  for (const auto& [dims, factor] : terms_) {
    for (const auto& [others, scale] : other.terms_) {
      Dims both = dims;
      both.insert(both.end(), others.begin(), others.end());
      product.add(std::move(both), factor * scale);
    }
  }
  return product;
}

Extent Extent::in_units(size_t place, int64_t unit) const {
  Extent counted;
  for (const auto& [dims, factor] : terms_) {
    int64_t scaled = factor;
    for (int dim : dims)
      if (static_cast<size_t>(dim) == place) scaled *= unit;
    counted.add(dims, scaled);
  }
  return counted;
}

std::string Extent::text() const {
  if (is_fixed()) return std::to_string(fixed());
  std::string text;
  // Products first, the number last.
  for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
    const auto& [dims, factor] = *term;
    std::string product;
    for (int dim : dims)
      product += (product.empty() ? "d" : " * d") + std::to_string(dim);
    if (factor != 1 || dims.empty()) product += (product.empty() ? "" : " * ") + std::to_string(factor);
    text += (text.empty() ? "" : " + ") + product;
  }
  bool is_name = terms_.size() == 1 && terms_.begin()->first.size() == 1 && terms_.begin()->second == 1;
  return is_name ? text : "(" + text + ")";
}

}  // namespace autoperfect::schedule

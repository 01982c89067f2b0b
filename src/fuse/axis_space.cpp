#include "fuse/axis_space.h"

#include <algorithm>

namespace autoperfect {

namespace {
constexpr size_t most_axes = 512;  // while a region is looked at; a kernel has far fewer
}

void add_scaled(Affine& to, const Affine& what, int64_t factor) {
  to.offset += factor * what.offset;
  for (auto [axis, coefficient] : what.terms) {
    auto at = std::lower_bound(
        to.terms.begin(), to.terms.end(), axis, [](const auto& term, AxisId a) { return term.first < a; });
    if (at == to.terms.end() || at->first != axis) {
      if (factor * coefficient != 0) to.terms.insert(at, {axis, factor * coefficient});
    } else if ((at->second += factor * coefficient) == 0) {
      to.terms.erase(at);
    }
  }
}

AxisId AxisSpace::fresh(int64_t size) {
  axes_.push_back({size, false, false, {}});
  return static_cast<AxisId>(axes_.size()) - 1;
}

void AxisSpace::keep_whole(AxisId axis) {
  if (axes_[axis].whole) return;
  axes_[axis].whole = true;
  changes_.push_back({axis, false});
}

void AxisSpace::keep_independent(std::vector<AxisId> axes) {
  if (axes.empty()) return;  // one axis may be split into several
  std::sort(axes.begin(), axes.end());
  if (std::find(independent_.begin(), independent_.end(), axes) == independent_.end())
    independent_.push_back(std::move(axes));
}

Affine AxisSpace::resolve(const Affine& affine) const {
  bool resolved =
      std::all_of(affine.terms.begin(), affine.terms.end(), [&](auto& t) { return is_live(t.first); });
  if (resolved) return affine;
  Affine now = affine;
  for (bool again = true; again;) {
    again = false;
    for (auto [axis, coefficient] : now.terms) {
      if (is_live(axis)) continue;
      Affine next = now;
      std::erase_if(next.terms, [axis = axis](auto& t) { return t.first == axis; });
      add_scaled(next, axes_[axis].meaning, coefficient);
      now = std::move(next);
      again = true;
      break;
    }
  }
  return now;
}

std::pair<int64_t, int64_t> AxisSpace::range(const Affine& affine) const {
  int64_t lowest = affine.offset, highest = affine.offset;
  for (auto [axis, coefficient] : affine.terms)
    (coefficient < 0 ? lowest : highest) += coefficient * (axes_[axis].size - 1);
  return {lowest, highest};
}

// Least significant first; only a number whose digits nest has any.
bool AxisSpace::digits(const Affine& affine, std::vector<Digit>& found, int64_t& unit) const {
  auto terms = affine.terms;
  std::sort(terms.begin(), terms.end(), [](auto& a, auto& b) { return a.second < b.second; });
  unit = terms.empty() ? 0 : terms[0].second;
  int64_t step = unit;
  for (auto [axis, coefficient] : terms) {
    if (coefficient <= 0 || coefficient != step) return false;
    found.push_back({axis, axes_[axis].size});
    step *= axes_[axis].size;
  }
  return true;
}

bool AxisSpace::counts(const Affine& number, int64_t size) const {
  Affine whole = resolve(number);
  std::vector<Digit> found;
  int64_t unit = 0, product = 1;
  if (whole.offset != 0 || !digits(whole, found, unit) || unit > 1) return false;
  for (auto& digit : found)
    product *= digit.size;
  return product == size;
}

bool AxisSpace::bind(AxisId axis, Affine meaning) {
  auto& info = axes_[axis];
  bool renames = meaning.offset == 0 && meaning.terms.size() == 1 && meaning.terms[0].second == 1;
  if (info.whole && !renames) return false;
  if (info.whole) keep_whole(meaning.terms[0].first);
  info.substituted = true;
  info.meaning = std::move(meaning);
  changes_.push_back({axis, true});
  return true;
}

bool AxisSpace::unify_digits(std::vector<Digit> a, std::vector<Digit> b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].axis == b[j].axis) {
      if (a[i].size != b[j].size) return false;
      ++i, ++j;
    } else if (a[i].size == b[j].size) {
      // The older name stays, so that the result does not depend on the order of the two sides.
      AxisId older = std::min(a[i].axis, b[j].axis), newer = std::max(a[i].axis, b[j].axis);
      if (!bind(newer, {0, {{older, 1}}})) return false;
      ++i, ++j;
    } else {
      auto& large = a[i].size > b[j].size ? a[i] : b[j];
      auto& small = a[i].size > b[j].size ? b[j] : a[i];
      if (large.size % small.size != 0 || axes_.size() >= most_axes) return false;
      AxisId rest = fresh(large.size / small.size);
      Affine meaning{0, {{small.axis, 1}}};
      add_scaled(meaning, {0, {{rest, 1}}}, small.size);
      if (!bind(large.axis, std::move(meaning))) return false;
      large = {rest, axes_[rest].size};
      ++(&large == &a[i] ? j : i);
    }
  }
  return i == a.size() && j == b.size();
}

bool AxisSpace::unify_one(const Affine& left, const Affine& right) {
  if (left == right) return true;
  Affine a = resolve(left), b = resolve(right);
  if (a == b) return true;
  if (a.offset != b.offset) return false;
  std::vector<Digit> da, db;
  int64_t unit_a = 0, unit_b = 0;
  if (!digits(a, da, unit_a) || !digits(b, db, unit_b) || unit_a != unit_b) return false;
  return unify_digits(std::move(da), std::move(db));
}

bool AxisSpace::still_independent() {
  std::vector<std::pair<size_t, std::vector<AxisId>>> renewed;
  for (size_t i = 0; i < independent_.size(); ++i) {
    auto& axes = independent_[i];
    if (std::all_of(axes.begin(), axes.end(), [&](AxisId a) { return is_live(a); })) continue;
    std::vector<AxisId> now;
    for (AxisId axis : axes) {
      Affine number = resolve({0, {{axis, 1}}});
      if (!counts(number, axes_[axis].size)) return false;
      for (auto& term : number.terms)
        now.push_back(term.first);
    }
    std::sort(now.begin(), now.end());
    if (std::adjacent_find(now.begin(), now.end()) != now.end()) return false;
    renewed.push_back({i, std::move(now)});
  }
  for (auto& [i, axes] : renewed)
    independent_[i] = std::move(axes);
  return true;
}

void AxisSpace::undo(size_t mark) {
  while (changes_.size() > mark) {
    auto& info = axes_[changes_.back().axis];
    if (changes_.back().substituted) {
      info.substituted = false;
    } else {
      info.whole = false;
    }
    changes_.pop_back();
  }
}

bool AxisSpace::unify(const IndexMap& a, const IndexMap& b) {
  size_t before = changes_.size();
  bool same = a.size() == b.size() && axes_.size() < most_axes;
  for (size_t d = 0; same && d < a.size(); ++d)
    same = a[d].gathered == b[d].gathered && unify_one(a[d].affine, b[d].affine);
  if (same && (changes_.size() == before || still_independent())) return true;
  undo(before);
  return false;
}

bool AxisSpace::split(const Affine& number, int64_t divisor, Affine& quotient, Affine& remainder) {
  Affine whole = resolve(number);
  quotient = remainder = {};
  int64_t lowest = ((whole.offset % divisor) + divisor) % divisor;
  quotient.offset = (whole.offset - lowest) / divisor;
  remainder.offset = lowest;
  size_t before = changes_.size();
  for (auto [axis, coefficient] : whole.terms) {
    int64_t size = axes_[axis].size;
    int64_t digit = coefficient > 0 && divisor % coefficient == 0 ? divisor / coefficient : 0;
    if (coefficient % divisor == 0) {
      add_scaled(quotient, {0, {{axis, 1}}}, coefficient / divisor);
    } else if (digit == 0 || size <= digit) {
      add_scaled(remainder, {0, {{axis, 1}}}, coefficient);
    } else {
      if (size % digit != 0 || axes_.size() + 2 >= most_axes) return undo(before), false;
      AxisId low = fresh(digit), high = fresh(size / digit);
      if (!bind(axis, {0, {{low, 1}, {high, digit}}})) return undo(before), false;
      add_scaled(remainder, {0, {{low, 1}}}, coefficient);
      add_scaled(quotient, {0, {{high, 1}}}, 1);
    }
  }
  auto [least, most] = range(remainder);
  if (least >= 0 && most < divisor) return true;
  return undo(before), false;
}

}  // namespace autoperfect

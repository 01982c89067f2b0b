#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "gate/families.h"
#include "gate/family_maker.h"

namespace autoperfect {
namespace {

constexpr size_t most_constants = 64;
// Of the families about sizes, a round each: a large one takes as long as hundreds of small ones, so that
// they come last, the smallest first.
constexpr int64_t large_work[] = {int64_t{1} << 18, int64_t{1} << 20, int64_t{1} << 22};
constexpr int64_t most_work = large_work[std::size(large_work) - 1];
constexpr Recipe listed = {"", FloatPattern::listed, IntegerPattern::listed};
constexpr Recipe listed_rows = {"", FloatPattern::listed_rows, IntegerPattern::listed};

// How many terms the reductions of the kernel have.
std::set<double> terms_of(const Kernel& kernel) {
  std::set<double> found;
  for (auto& value : kernel.values) {
    double terms = 1;
    for (AxisId axis : value.reduced)
      terms *= static_cast<double>(kernel.axes[axis].size);
    if (terms > 1) found.insert(terms);
  }
  return found;
}

// Numbers that meet the constant themselves, or whose sum, mean of squares or exponential does.
std::vector<double> sources_of(double constant, const std::set<double>& terms) {
  std::vector<double> found = {constant, -constant};
  const double size = std::fabs(constant);
  found.push_back(std::sqrt(size));
  if (size > 0) found.push_back(std::log(size));
  for (double n : terms)
    for (double number : {constant / n, std::sqrt(size / n), constant * n})
      found.push_back(number);
  return found;
}

class Searcher {
 public:
  Searcher(
      const Kernel& kernel,
      uint64_t seed,
      int64_t max_elements,
      std::vector<double> constants,
      const Guards& guards)
      : kernel_(kernel),
        maker_(kernel, seed, guards),
        max_elements_(max_elements),
        constants_(std::move(constants)),
        terms_(terms_of(resize(kernel, small()))) {
    if (constants_.size() > most_constants) constants_.resize(most_constants);
    std::sort(constants_.begin(), constants_.end());
    for (auto& buffer : kernel.buffers)
      inputs_ += buffer.role == BufferRole::in;
  }

  std::vector<int64_t> small() const { return sizes_for(kernel_, std::min(small_family, max_elements_), 0); }

  void around_constants() {
    maker_.list = constants_;
    maker_.add("around its constants", listed, small());
    for (size_t i = 0; i < constants_.size(); ++i) {
      for (double number : sources_of(constants_[i], terms_))
        rows_.push_back(number);
      if (i == 0) continue;
      for (double number : sources_of((constants_[i - 1] + constants_[i]) / 2, terms_))
        rows_.push_back(number);
    }
    add_rows("rows around its constants");
  }

  // One input after the other, the rest normal.
  void around_constants_alone() {
    for (int input = 0; input < inputs_ && inputs_ > 1; ++input) {
      maker_.list = constants_;
      maker_.add("around its constants in one input", listed, small(), input);
      add_rows("rows around its constants in one input", input);
    }
  }

  void magnitudes() {
    rows_.clear();
    for (int exponent = -150; exponent <= 128; exponent += 6)
      for (double sign : {1.0, -1.0})
        rows_.push_back(sign * std::ldexp(1.0, exponent));
    add_rows("rows of every magnitude");
    maker_.list = rows_;
    maker_.add("every magnitude", listed, small());
  }

  void specials_alone() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (double special : {std::nan(""), infinity, -infinity, 0.0, -0.0, 1.0, -1.0}) {
      rows_ = {special, 1.0, special, -1.0, special, 0.5};
      for (int input = -1; input < inputs_; ++input)
        add_rows("rows of one special number", input);
    }
  }

  // Those whose work is above `least` and up to `most`.
  void sizes(int64_t least, int64_t most) {
    std::set<int64_t> wanted;
    for (int64_t size = 1; size < 70; size += size < 33 ? 1 : 4)
      wanted.insert(size);
    for (int64_t size = 128; size <= max_elements_; size *= 4)
      wanted.insert({size - 1, size, size + 1});
    for (double constant : constants_) {
      if (constant < 1 || constant > static_cast<double>(most_work)) continue;
      const auto size = static_cast<int64_t>(constant);
      wanted.insert({std::max<int64_t>(1, size - 1), size, size + 1});
    }
    if (dynamic_axes(kernel_).empty()) return;
    for (int64_t size : wanted) {
      auto chosen = sizes_with(kernel_, size);
      const int64_t work = work_of(resize(kernel_, chosen));
      if (work <= least || work > most) continue;
      maker_.add("size " + std::to_string(size), {"", FloatPattern::normal, IntegerPattern::small}, chosen);
    }
  }

  // Every pattern in one input, the others normal.
  void patterns() {
    for (int f = 0; f < static_cast<int>(FloatPattern::listed); ++f) {
      const Recipe recipe = {"", static_cast<FloatPattern>(f), static_cast<IntegerPattern>(f % 5)};
      for (int input = inputs_ > 1 ? 0 : -1; input < std::max(inputs_, 0); ++input)
        maker_.add("one input unlike the others", recipe, small(), input);
    }
  }

  std::vector<InputFamily> take() { return std::move(maker_.families); }

 private:
  // Kernels with few rows see only the first numbers of a list, so more families begin later in it.
  void add_rows(const std::string& name, int only_input = -1) {
    if (rows_.empty()) return;
    constexpr size_t most_families = 8;
    int64_t fewest_rows = std::numeric_limits<int64_t>::max();
    const Kernel sized = resize(kernel_, small());
    for (auto& buffer : sized.buffers) {
      if (buffer.role == BufferRole::out || !is_floating(buffer.type.dtype)) continue;
      const int64_t columns = buffer.type.shape.empty() ? 1 : std::max<int64_t>(1, buffer.type.shape.back());
      fewest_rows = std::min(fewest_rows, std::max<int64_t>(1, buffer.type.elements() / columns));
    }
    const auto step = static_cast<size_t>(std::min<int64_t>(fewest_rows, 1 << 20));
    const size_t families = std::clamp<size_t>((rows_.size() + step - 1) / step, 1, most_families);
    for (size_t f = 0; f < families; ++f) {
      maker_.list = rows_;
      const auto first = static_cast<int64_t>(f * rows_.size() / families);
      std::rotate(maker_.list.begin(), maker_.list.begin() + first, maker_.list.end());
      maker_.add(name, listed_rows, small(), only_input);
    }
  }

  const Kernel& kernel_;
  FamilyMaker maker_;
  int64_t max_elements_;
  std::vector<double> constants_;
  std::set<double> terms_;
  std::vector<double> rows_;
  int inputs_ = 0;
};

}  // namespace

std::vector<InputFamily> make_constant_families(
    const Kernel& kernel,
    uint64_t seed,
    int64_t max_elements,
    const std::vector<double>& constants,
    const Guards& guards) {
  if (constants.empty()) return {};
  Searcher searcher(kernel, seed, max_elements, constants, guards);
  searcher.around_constants();
  return searcher.take();
}

std::vector<InputFamily> make_search_families(
    const Kernel& kernel,
    uint64_t seed,
    int round,
    int64_t max_elements,
    const std::vector<double>& constants,
    const Guards& guards) {
  Searcher searcher(kernel, seed, max_elements, constants, guards);
  switch (round) {
    case 0:
      searcher.sizes(0, max_elements);
      break;
    case 1:
      searcher.magnitudes();
      break;
    case 2:
      searcher.specials_alone();
      break;
    case 3:
      searcher.around_constants_alone();
      searcher.around_constants();  // other places
      break;
    case 4:
      searcher.patterns();
      break;
    default: {
      const auto at = static_cast<size_t>(round - 5);
      searcher.sizes(at == 0 ? max_elements : large_work[at - 1], large_work[at]);
    }
  }
  return searcher.take();
}

}  // namespace autoperfect

#include "gate/families.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gate/family_maker.h"
#include "ir/gathered_inputs.h"
#include "ir/layout.h"

namespace autoperfect {
namespace {

constexpr int64_t fewest_units = 3;  // of a dynamic axis, except in the families about sizes
constexpr int64_t most_elements = int64_t{1}
                                  << 23;  // of all families together, when static sizes allow no less

// In order of importance.
constexpr Recipe recipes[] = {
    {"normal", FloatPattern::normal, IntegerPattern::small},
    {"special rows", FloatPattern::special_rows, IntegerPattern::any},
    {"shifted", FloatPattern::shifted, IntegerPattern::extreme},
    {"far shifted", FloatPattern::far_shifted, IntegerPattern::any},
    {"scattered nan and inf", FloatPattern::scattered_specials, IntegerPattern::negative},
    {"large", FloatPattern::large, IntegerPattern::any},
    {"masked rows", FloatPattern::masked_rows, IntegerPattern::small},
    {"ties", FloatPattern::ties, IntegerPattern::zero},
    {"thresholds", FloatPattern::thresholds, IntegerPattern::small},
    {"blocks", FloatPattern::blocks, IntegerPattern::small},
    {"cancelling", FloatPattern::cancelling, IntegerPattern::extreme},
    {"late outlier", FloatPattern::late_outlier, IntegerPattern::negative},
    {"positive", FloatPattern::positive, IntegerPattern::small},
    {"negative", FloatPattern::negative, IntegerPattern::negative},
    {"scaled", FloatPattern::scaled, IntegerPattern::any},
    {"uniform", FloatPattern::uniform, IntegerPattern::small},
    {"equal", FloatPattern::equal, IntegerPattern::zero},
    {"signed zeros", FloatPattern::signed_zeros, IntegerPattern::zero},
    {"tiny", FloatPattern::tiny, IntegerPattern::extreme},
    {"denormal", FloatPattern::denormal, IntegerPattern::extreme},
};

// Around the widths of vectors, and single elements.
constexpr int64_t edge_sizes[] = {1, 2, 15, 16, 17, 31, 64, 65};
constexpr int64_t primes[] = {262139, 65521, 16381, 4093, 2039, 1021, 509, 251, 127, 61, 31, 13, 7, 5, 3};

// The largest prime of the list up to `limit`, or a later one, so that axes differ.
int64_t prime_below(int64_t limit, size_t later) {
  size_t at = 0;
  while (at + 1 < std::size(primes) && primes[at] > limit)
    ++at;
  return primes[std::min(at + later, std::size(primes) - 1)];
}

bool works_on_integers(const Kernel& kernel, const KernelValue& value) {
  return !value.operands.empty() && is_integer(operand_dtype(kernel, value, 0));
}

// Ops that trap, hang or mean nothing for some integers; MLX itself would crash on those.
bool needs_safe_integers(const Kernel& kernel) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), [&](const KernelValue& value) {
    switch (value.op) {
      case Op::floor_divide:
      case Op::remainder:
      case Op::div:
      case Op::power:
      case Op::left_shift:
      case Op::right_shift:
        return works_on_integers(kernel, value);
      default:
        return false;
    }
  });
}

std::vector<double> literals_of(const Kernel& kernel) {
  std::set<double> found = {0.0, 1.0};
  for (auto& value : kernel.values) {
    for (auto& operand : value.operands) {
      if (operand.kind == KernelOperand::Kind::literal && std::isfinite(operand.literal)) {
        found.insert(std::fabs(operand.literal));
      }
    }
  }
  return {found.begin(), found.end()};
}

// A number for each free stride, so that rows have gaps or dimensions are exchanged, differently from family
// to family; and what the kernel is told.
void settle_strides(InputFamily& family, size_t variation) {
  for (auto& axis : family.kernel.axes)
    if (axis.dynamic) family.dims.push_back(axis.size);
  constexpr int64_t gaps[] = {0, 1, 5, 64};
  const auto free = free_strides(family.kernel);
  for (auto& buffer : family.kernel.buffers)
    settle_free_strides(buffer, gaps[variation / 2 % std::size(gaps)], variation % 2 != 0);
  for (auto& [buffer, d] : free)
    family.dims.push_back(family.kernel.buffers[buffer].layout.strides[d]);
}

}  // namespace

std::vector<AxisId> dynamic_axes(const Kernel& kernel) {
  std::vector<AxisId> found;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    if (kernel.axes[a].dynamic) found.push_back(static_cast<AxisId>(a));
  }
  return found;
}

std::vector<int64_t> sizes_with(const Kernel& kernel, int64_t size) {
  std::vector<int64_t> sizes;
  for (auto& axis : kernel.axes)
    sizes.push_back(axis.dynamic ? size : axis.size);
  return sizes;
}

std::vector<int64_t> sizes_for(const Kernel& kernel, int64_t elements, size_t variation) {
  auto dynamic = dynamic_axes(kernel);
  auto sizes = sizes_with(kernel, 1);
  if (dynamic.empty()) return sizes;
  double per_axis = std::pow(
      static_cast<double>(elements) /
          static_cast<double>(std::max<int64_t>(1, work_of(resize(kernel, sizes)))),
      1.0 / static_cast<double>(dynamic.size()));
  auto limit = std::max<int64_t>(fewest_units, static_cast<int64_t>(per_axis));
  for (size_t i = 0; i < dynamic.size(); ++i)
    sizes[dynamic[i]] = prime_below(limit, i + variation);
  return sizes;
}

std::vector<int64_t> sizes_of_axes(const Kernel& kernel) {
  std::vector<int64_t> sizes;
  for (const auto& axis : kernel.axes)
    sizes.push_back(axis.size);
  return sizes;
}

std::vector<int64_t> sizes_admitted(const Guards& guards, std::vector<int64_t> sizes) {
  for (const auto& guard : guards.sizes) {
    auto& size = sizes.at(static_cast<size_t>(guard.axis));
    size = std::clamp(size, guard.least, std::max(guard.least, guard.most));
    size = (size + guard.multiple - 1) / guard.multiple * guard.multiple;
    if (size > guard.most) size -= guard.multiple;
  }
  return sizes;
}

FamilyMaker::FamilyMaker(const Kernel& kernel, uint64_t seed, const Guards& guards)
    : kernel_(kernel), guards_(guards), random_(seed) {
  options_.literals = literals_of(kernel);
  options_.safe_integers = needs_safe_integers(kernel);
  for (auto& buffer : kernel.buffers) {
    if (buffer.role == BufferRole::in && buffer.type.rank() > 1) has_matrices_ = true;
  }
}

void FamilyMaker::add(
    const std::string& name, const Recipe& recipe, const std::vector<int64_t>& sizes, int only_input) {
  InputFamily family{name, resize(kernel_, sizes_admitted(guards_, sizes)), {}};
  settle_strides(family, families.size());
  const auto index_sizes = gathered_sizes(family.kernel);
  for (size_t b = 0; b < index_sizes.size(); ++b) {
    const auto& buffer = family.kernel.buffers[b];
    if (buffer.role != BufferRole::in) continue;
    const bool plain = only_input >= 0 && static_cast<int>(family.inputs.size()) != only_input;
    auto options = options_;
    options.index_size = index_sizes[b];
    options.keep_rows_normal = has_matrices_ && buffer.type.rank() < 2;
    options.list = list;
    family.inputs.push_back(Tensor::zeros(buffer.type));
    fill(
        family.inputs.back(),
        plain ? FloatPattern::normal : recipe.floats,
        plain ? IntegerPattern::small : recipe.integers,
        options,
        random_);
    // What lies between the elements is a NaN, or the largest of integers.
    family.memory.push_back(lay_out(family.inputs.back(), buffer, 0xff));
    if (!is_row(buffer)) family.inputs.back() = read_laid_out(family.memory.back(), buffer);
  }
  families.push_back(std::move(family));
}

int64_t work_of(const Kernel& kernel) {
  int64_t most = 1;
  for (auto& buffer : kernel.buffers)
    most = std::max(most, buffer.type.elements());
  for (auto& value : kernel.values) {
    int64_t elements = 1;
    for (AxisId axis : value.axes)
      elements *= kernel.axes[axis].size;
    for (AxisId axis : value.reduced)
      elements *= kernel.axes[axis].size;
    most = std::max(most, elements);
  }
  return most;
}

std::vector<InputFamily> make_families(
    const Kernel& kernel, uint64_t seed, int64_t max_elements, const Guards& guards) {
  FamilyMaker maker(kernel, seed, guards);
  int64_t used = 0;
  for (size_t i = 0; i < std::size(recipes); ++i) {
    auto sizes = sizes_for(kernel, std::min(small_family, max_elements), i % 3);
    used += work_of(resize(kernel, sizes));
    if (i > 1 && used > most_elements) return std::move(maker.families);
    maker.add(recipes[i].name, recipes[i], sizes);
  }
  auto dynamic = dynamic_axes(kernel);
  if (dynamic.empty()) return std::move(maker.families);
  for (int64_t size : edge_sizes) {
    auto sizes = sizes_with(kernel, size);
    if (size > 2 && work_of(resize(kernel, sizes)) > max_elements / 4) continue;
    maker.add("size " + std::to_string(size), recipes[0], sizes);
  }
  maker.add("many", recipes[0], sizes_for(kernel, max_elements, 0));
  return std::move(maker.families);
}

}  // namespace autoperfect

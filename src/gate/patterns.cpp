#include "gate/patterns.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace autoperfect {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// The spacing of 1.0 and the smallest normal number: what patterns need to know of a floating dtype.
struct Format {
  double epsilon, smallest_normal, large;
};

Format format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return {0x1p-10, 0x1p-14, 300};
    case Dtype::bf16:
      return {0x1p-7, 0x1p-126, 1e4};
    case Dtype::f64:
      return {0x1p-52, 0x1p-1022, 1e4};
    default:
      return {0x1p-23, 0x1p-126, 1e4};
  }
}

struct Place {
  int64_t row, column, columns;
  double before;  // the element to the left
};

double scattered_special(Random& random) {
  switch (random.below(50)) {
    case 0:
      return nan_value;
    case 1:
      return infinity;
    case 2:
      return -infinity;
    default:
      return random.normal();
  }
}

// Rows in turn: wholly -inf, masked from the middle on, untouched.
double masked(const Place& at, Random& random) {
  double value = random.normal();
  if (at.row % 3 == 0) return -infinity;
  return at.row % 3 == 1 && at.column >= at.columns / 2 ? -infinity : value;
}

// Rows in turn: one NaN, one +inf, both infinities, all NaN, untouched; at a place that moves with the row.
double special_in_row(const Place& at, Random& random) {
  double value = random.normal();
  int64_t first = (at.row * 7 + 3) % at.columns, second = (first + at.columns / 2) % at.columns;
  switch (at.row % 5) {
    case 0:
      return at.column == first ? nan_value : value;
    case 1:
      return at.column == first ? infinity : value;
    case 2:
      return at.column == first ? infinity : at.column == second ? -infinity : value;
    case 3:
      return nan_value;
    default:
      return value;
  }
}

double around_literal(const std::vector<double>& literals, const Format& format, Random& random) {
  double literal = literals[static_cast<size_t>(random.below(static_cast<int64_t>(literals.size())))];
  double sign = random.below(2) ? 1 : -1;
  return sign * literal * (1 + static_cast<double>(random.below(5) - 2) * format.epsilon);
}

// At a number, just below or just above.
double near_to(double number, double step, const Format& format) {
  return number == 0 ? step * format.smallest_normal : number * (1 + step * format.epsilon);
}

double from_list(const FillOptions& options, const Format& format, Random& random) {
  if (options.list.empty() || random.below(3) == 0) return random.normal();
  const auto choice = static_cast<size_t>(random.below(static_cast<int64_t>(options.list.size())));
  return near_to(options.list[choice], static_cast<double>(random.below(3) - 1), format);
}

// A row is the same throughout, so that its sum is known; from one to the next the distance to the number
// changes as well.
double row_from_list(const FillOptions& options, int64_t row, const Format& format, Random& random) {
  if (options.list.empty()) return random.normal();
  const auto numbers = static_cast<int64_t>(options.list.size());
  constexpr double steps[] = {0, 1, -1, 0x1p10, -0x1p10};
  const double step = steps[static_cast<size_t>(row + row / numbers) % std::size(steps)];
  const double number = options.list[static_cast<size_t>(row % numbers)];
  return near_to(number, format.epsilon < 0x1p-20 ? step : std::clamp(step, -1.0, 1.0), format);
}

double float_value(
    FloatPattern pattern,
    const Place& at,
    double same,
    Dtype dtype,
    const FillOptions& options,
    Random& random) {
  Format format = format_of(dtype);
  switch (pattern) {
    case FloatPattern::normal:
      return random.normal();
    case FloatPattern::scaled:
      return random.normal() * 10;
    case FloatPattern::shifted:
      return random.normal() + 5;
    case FloatPattern::far_shifted:
      return random.normal() + 1000;
    case FloatPattern::uniform:
      return random.uniform();
    case FloatPattern::positive:
      return std::fabs(random.normal()) + 0.01;
    case FloatPattern::negative:
      return -std::fabs(random.normal()) - 0.01;
    case FloatPattern::large:
      return random.normal() * format.large;
    case FloatPattern::tiny:
      return random.normal() * std::sqrt(format.smallest_normal);
    case FloatPattern::denormal:
      return random.normal() * format.smallest_normal * 0.5;
    case FloatPattern::signed_zeros:
      return random.below(8) == 0 ? random.normal() : random.below(2) ? 0.0 : -0.0;
    case FloatPattern::equal:
      return same;
    case FloatPattern::ties:
      return static_cast<double>(random.below(4)) * 0.5 - 1;
    case FloatPattern::late_outlier:
      return at.column == at.columns - 1 - at.columns / 16 ? 1000 : random.normal();
    case FloatPattern::blocks:
      return random.normal() * std::pow(10.0, static_cast<double>((at.column / 16 + at.row) % 7) - 3);
    case FloatPattern::thresholds:
      return around_literal(options.literals, format, random);
    case FloatPattern::cancelling:
      // Pairs that all but cancel: what is left of their sum is rounding, unless it is done with care.
      if (at.column % 2 == 0) return random.normal() * 100;
      return -at.before * (1 + static_cast<double>(random.below(5) - 2) * format.epsilon);
    case FloatPattern::scattered_specials:
      return scattered_special(random);
    case FloatPattern::masked_rows:
      return options.keep_rows_normal ? random.normal() : masked(at, random);
    case FloatPattern::special_rows:
      return options.keep_rows_normal ? random.normal() : special_in_row(at, random);
    case FloatPattern::listed:
      return from_list(options, format, random);
    case FloatPattern::listed_rows:
      return row_from_list(options, at.row, format, random);
  }
  return 0;
}

int64_t in_range(double number, int64_t least, int64_t most) {
  if (!(number > static_cast<double>(least))) return least;
  return number < static_cast<double>(most) ? static_cast<int64_t>(number) : most;
}

int64_t integer_from_list(const FillOptions& options, Dtype dtype, Random& random) {
  if (options.list.empty()) return random.below(9);
  const auto choice = static_cast<size_t>(random.below(static_cast<int64_t>(options.list.size())));
  const int bits = static_cast<int>(size_of(dtype)) * 8 - (is_signed_integer(dtype) ? 1 : 0);
  const int64_t most = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  const auto near = options.list[choice] + static_cast<double>(random.below(3) - 1);
  return in_range(near, is_signed_integer(dtype) ? -most - 1 : 0, most);
}

int64_t integer_value(IntegerPattern pattern, Dtype dtype, Random& random) {
  int bits = static_cast<int>(size_of(dtype)) * 8;
  uint64_t ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  bool is_signed = is_signed_integer(dtype);
  switch (pattern) {
    case IntegerPattern::small:
      return is_signed ? random.below(9) - 4 : random.below(9);
    case IntegerPattern::zero:
      return 0;
    case IntegerPattern::negative:
      return is_signed ? -1 - random.below(100) : random.below(100);
    case IntegerPattern::extreme: {
      int64_t most = static_cast<int64_t>(is_signed ? ones >> 1 : ones);
      int64_t least = is_signed ? static_cast<int64_t>(~(ones >> 1)) : 0;
      return random.below(2) ? most - random.below(3) : least + random.below(3);
    }
    case IntegerPattern::any:
    case IntegerPattern::listed:
      return static_cast<int64_t>(random.bits() & ones);
  }
  return 0;
}

// Valid indices of a dimension run from -size to size - 1; what lies outside (`any`) is clamped.
int64_t index_value(IntegerPattern pattern, int64_t size, Random& random) {
  switch (pattern) {
    case IntegerPattern::small:
      return random.below(2 * size) - size;
    case IntegerPattern::zero:
      return size / 2;
    case IntegerPattern::negative:
      return -1 - random.below(size);
    case IntegerPattern::extreme: {
      const int64_t ends[] = {-size, -1, 0, size - 1};
      return ends[random.below(4)];
    }
    case IntegerPattern::listed:
    case IntegerPattern::any: {
      const int64_t around[] = {
          -size - 1, -size, -size + 1, -1, 0, 1, size - 1, size, size + 1, 1 << 30, -(1 << 30)};
      return random.below(2) ? around[random.below(std::size(around))] : random.below(2 * size) - size;
    }
  }
  return 0;
}

// In the range of the dtype: of a small one some are not reached; unsigned ones are not negative.
int64_t index_of(IntegerPattern pattern, Dtype dtype, int64_t size, Random& random) {
  const int bits = static_cast<int>(size_of(dtype)) * 8 - (is_signed_integer(dtype) ? 1 : 0);
  const int64_t most = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  int64_t index = index_value(pattern, size, random);
  if (!is_signed_integer(dtype) && index < 0) index = pattern == IntegerPattern::any ? most : -1 - index;
  return std::clamp(index, is_signed_integer(dtype) ? -most - 1 : 0, most);
}

bool bool_value(IntegerPattern pattern, Random& random) {
  switch (pattern) {
    case IntegerPattern::zero:
      return false;
    case IntegerPattern::extreme:
      return true;
    case IntegerPattern::negative:
      return random.below(20) == 0;
    default:
      return random.below(2) == 0;
  }
}

}  // namespace

uint64_t Random::bits() {
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return state_ * 0x2545f4914f6cdd1dull;
}

double Random::normal() {
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * 3.14159265358979323846 * uniform());
}

void fill(
    Tensor& tensor,
    FloatPattern floats,
    IntegerPattern integers,
    const FillOptions& options,
    Random& random) {
  Dtype dtype = tensor.type.dtype;
  int64_t columns = tensor.type.shape.empty() ? 1 : std::max<int64_t>(1, tensor.type.shape.back());
  double same = random.normal(), before = 0;
  const bool lists_integers = integers == IntegerPattern::listed && !options.safe_integers;
  for (int64_t i = 0, elements = tensor.type.elements(); i < elements; ++i) {
    if (is_floating(dtype)) {
      before = float_value(floats, {i / columns, i % columns, columns, before}, same, dtype, options, random);
      tensor.set(i, before);
      before = tensor.at(i);
    } else if (dtype == Dtype::bool_) {
      tensor.set_integer(i, bool_value(integers, random));
    } else if (options.index_size > 0) {
      tensor.set_integer(i, index_of(integers, dtype, options.index_size, random));
    } else if (lists_integers) {
      tensor.set_integer(i, integer_from_list(options, dtype, random));
    } else {
      tensor.set_integer(
          i, options.safe_integers ? 1 + random.below(7) : integer_value(integers, dtype, random));
    }
  }
}

}  // namespace autoperfect

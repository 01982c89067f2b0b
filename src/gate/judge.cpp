#include "gate/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gate/elementwise_bounds.h"
#include "gate/origin.h"
#include "reference/reference.h"

// The rule, element by element. `exact` is the reference in exact dtype semantics, `eager` MLX itself,
// `oracle` the reference in double; one of the first two is enough where it says "either".
//
// Integers and bools: the bytes of either.
// Floats:
//   1. NaN, +inf, -inf or finite: as in either. A zero has the sign it has in either, unless
//   reductions, scans or contractions of floats are involved: of +0 and -0 the order decides which a sum, max
//   or min gives; or sign_doubts() says that rounding may have taken it over zero.
//   2. Where finite, the distance to the oracle is at most one of
//        - the kernel's budget: the largest of ulp (in units of the output dtype at the oracle's value), abs
//        and
//          rel * |oracle|;
//        - twice the larger of the distances of exact and eager at that element, plus 2 ulp. Eager's counts
//        where it
//          is at most 64 ulp: MLX's functions are a few ulp off, but its softmax of bf16 on the CPU, say, is
//          off by half, and that licenses nothing but those very bits, which are what the program gives now.
// Where halves are scanned, "either" is also what a kernel gives that accumulates in f32: accumulated.h.
// What fails that is measured once more by error_bounds(), the error that rounding alone may cause there: the
// distance to the oracle (for integers and bools: to exact) may be as large. Where it is infinite, even 1.
// does not apply; where it holds the largest finite number, infinity and numbers near that one are the same.

namespace autoperfect {
namespace {

constexpr double most_eager_ulp = 64;

enum class Class { finite, nan, plus_infinity, minus_infinity };

Class class_of_number(double x) {
  if (std::isnan(x)) return Class::nan;
  if (std::isinf(x)) return x > 0 ? Class::plus_infinity : Class::minus_infinity;
  return Class::finite;
}

bool same_bytes(const Tensor& a, const Tensor& b, int64_t element) {
  auto size = static_cast<size_t>(size_of(a.type.dtype));
  return std::memcmp(a.bytes.data() + element * size, b.bytes.data() + element * size, size) == 0;
}

bool reduces_floats(const Kernel& kernel) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), [](const KernelValue& value) {
    const OpClass op = class_of(value.op);
    const bool reduces = op == OpClass::reduction || op == OpClass::scan || op == OpClass::gemm;
    return reduces && is_floating(value.dtype);
  });
}

// One output of one family.
class OutputJudge {
 public:
  OutputJudge(const InputFamily& family, const References& references, size_t output, const Tensor& got)
      : family_(family),
        references_(references),
        got_(got),
        oracle_(references.oracle[output]),
        exact_(references.exact[output]),
        eager_(references.eager.empty() ? nullptr : &references.eager[output]),
        output_(output),
        zero_signs_(!reduces_floats(family.kernel)),
        scans_halves_(scans_halves(family.kernel)) {}

  // Empty when all is well.
  std::string run(FamilyResult& result) {
    for (int64_t e = 0; e < got_.type.elements(); ++e) {
      bool good = is_floating(got_.type.dtype) ? float_is_good(e, result) : integer_is_good(e);
      if (!good) return describe(e, result);
    }
    return "";
  }

 private:
  bool integer_is_good(int64_t e) {
    if (same_bytes(got_, exact_, e) || (eager_ && same_bytes(got_, *eager_, e))) return true;
    if (got_.type.dtype == Dtype::bool_ && got_.bytes[static_cast<size_t>(e)] > 1) return false;
    if (std::fabs(got_.at(e) - exact_.at(e)) <= bound(e)) return true;
    return scans_halves_ && std::fabs(got_.at(e) - accumulated().at(e)) <= bound(e);
  }

  bool float_is_good(int64_t e, FamilyResult& result) {
    double got = got_.at(e), oracle = oracle_.at(e), exact = exact_.at(e);
    double eager = eager_ ? eager_->at(e) : exact;
    Class kind = class_of_number(got);
    if (kind != class_of_number(exact) && kind != class_of_number(eager) &&
        !(scans_halves_ && kind == class_of_number(accumulated().at(e))))
      return std::isinf(bound(e)) || rounds_over_the_edge(got, oracle, bound(e));
    if (kind != Class::finite) return true;
    if (zero_signs_ && got == 0 && exact == 0 && eager == 0 && std::signbit(got) != std::signbit(exact) &&
        std::signbit(got) != std::signbit(eager) && !sign_is_open(e)) {
      return false;
    }
    double ulp = ulp_at(got_.type.dtype, oracle);
    double error = distance(got, oracle), theirs = distance(exact, oracle);
    double mlx = distance(eager, oracle);
    if (mlx <= most_eager_ulp * ulp) theirs = std::max(theirs, mlx);
    record(result, error, mlx, ulp);
    const Numerics& numerics = family_.kernel.numerics;
    double budget = std::max({numerics.ulp * ulp, numerics.abs, numerics.rel * std::fabs(oracle)});
    if (error <= budget || error <= 2 * theirs + 2 * ulp) return true;
    return (eager_ && same_bytes(got_, *eager_, e)) || error <= bound(e);
  }

  // Finite on one side and infinite on the other of the largest number, which lies within the bound.
  bool rounds_over_the_edge(double got, double oracle, double bound) const {
    const double largest = range_of(got_.type.dtype).largest;
    return !std::isnan(got) && !std::isnan(oracle) && std::signbit(got) == std::signbit(oracle) &&
           std::fabs(std::fabs(oracle) - largest) <= bound &&
           (std::isinf(got) || std::fabs(got - oracle) <= bound);
  }

  // Equal infinities are at distance 0; where the oracle is finite and the dtype overflows, the class
  // decides.
  static double distance(double number, double oracle) {
    if (number == oracle || !std::isfinite(number) || !std::isfinite(oracle)) return 0;
    return std::fabs(number - oracle);
  }

  static void record(FamilyResult& result, double error, double eager_error, double ulp) {
    result.worst_abs = std::max(result.worst_abs, error);
    result.worst_ulp = std::max(result.worst_ulp, error / ulp);
    result.eager_ulp = std::max(result.eager_ulp, eager_error / ulp);
  }

  // Computed only when some element needs it.
  double bound(int64_t e) {
    if (!bounds_) bounds_ = &references_.bounds->of(family_.kernel, family_.inputs)[output_];
    double bound = bounds_->at(e);
    return std::isnan(bound) ? 0 : bound;
  }

  const Tensor& accumulated() { return references_.accumulated->of(family_.kernel, family_.inputs)[output_]; }

  bool sign_is_open(int64_t e) {
    return references_.sign_doubts->of(family_.kernel, family_.inputs)[output_].at(e) != 0;
  }

  std::string describe(int64_t e, FamilyResult& result) {
    std::string text = fmt::format(
        "%{}{}: expected {}, got {}",
        name(),
        index_text(got_.type.shape, e),
        format_element(exact_, e),
        format_element(got_, e));
    if (is_floating(got_.type.dtype) && std::isfinite(got_.at(e)) && std::isfinite(exact_.at(e))) {
      double error = distance(got_.at(e), oracle_.at(e));
      text +=
          fmt::format(" (off by {:.3g}, {:.3g} ulp)", error, error / ulp_at(got_.type.dtype, oracle_.at(e)));
    }
    auto origin = origin_of(family_.kernel, output_, e);
    if (origin.statement.empty()) return text;
    text += "; " + origin.statement;
    // Lines of a contract are numbers, those of a program have names of it.
    if (family_.kernel.lines)
      result.places = origin.places;
    else if (!origin.places.empty())
      text += " computed at " + origin.places;
    return text;
  }

  static std::string format_element(const Tensor& tensor, int64_t e) {
    if (!is_floating(tensor.type.dtype)) return std::to_string(tensor.integer_at(e));
    return tensor.type.dtype == Dtype::f64 ? fmt::format("{}", tensor.at(e))
                                           : fmt::format("{}", static_cast<float>(tensor.at(e)));
  }

  std::string name() const {
    size_t next = 0;
    for (auto& buffer : family_.kernel.buffers) {
      if (buffer.role == BufferRole::out && next++ == output_) return buffer.name;
    }
    return "?";
  }

  const InputFamily& family_;
  const References& references_;
  const Tensor& got_;
  const Tensor& oracle_;
  const Tensor& exact_;
  const Tensor* eager_;
  size_t output_;
  bool zero_signs_, scans_halves_;
  const Tensor* bounds_ = nullptr;
};

}  // namespace

std::string index_text(const Shape& shape, int64_t element) {
  if (shape.empty()) return "";
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t size = std::max<int64_t>(1, shape[d]);
    index[d] = element % size;
    element /= size;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

double ulp_at(Dtype dtype, double number) {
  struct Limits {
    int digits, smallest_exponent, largest_exponent;
  };
  Limits limits = dtype == Dtype::f16    ? Limits{10, -14, 15}
                  : dtype == Dtype::bf16 ? Limits{7, -126, 127}
                  : dtype == Dtype::f64  ? Limits{52, -1022, 1023}
                                         : Limits{23, -126, 127};
  int exponent = number == 0 || !std::isfinite(number) ? limits.smallest_exponent : std::ilogb(number);
  exponent = std::min(std::max(exponent, limits.smallest_exponent), limits.largest_exponent);
  return std::ldexp(1.0, exponent - limits.digits);
}

FamilyResult judge(
    const InputFamily& family, const References& references, const std::vector<Tensor>& outputs) {
  FamilyResult result;
  result.family = family.name;
  for (size_t i : in_order_of_statements(family.kernel)) {
    if (i < outputs.size() && result.failure.empty())
      result.failure = OutputJudge(family, references, i, outputs[i]).run(result);
  }
  result.passed = result.failure.empty();
  return result;
}

}  // namespace autoperfect

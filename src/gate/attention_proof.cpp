#include "gate/attention_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "gate/judge.h"
#include "gate/patterns.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
enum Input : size_t { q, k, v, mask };

// Fills one family after the other from one stream of random numbers.
class Maker {
 public:
  Maker(const Graph& written, double scale, uint64_t seed) : random_(seed) {
    for (const auto& input : written.inputs)
      types_.push_back(written.type(input.value));
    const auto width = static_cast<double>(std::max<int64_t>(1, types_[q].shape.back()));
    // Scores of such q and k have a spread of 1.
    spread_ = 1 / std::sqrt(std::max(std::fabs(scale), 1e-6) * std::sqrt(width));
    const int64_t rank = types_.size() > mask ? types_[mask].rank() : 0;
    mask_columns_ = rank > 0 ? std::max<int64_t>(1, types_[mask].shape.back()) : 1;
  }

  std::vector<AttentionFamily> run() {
    values();
    if (types_.size() > mask) masks();
    specials();
    return std::move(families_);
  }

 private:
  using Number = std::function<double(int64_t element)>;

  void fill(Tensor& tensor, const Number& number) {
    for (int64_t e = 0; e < tensor.type.elements(); ++e)
      tensor.set(e, number(e));
  }
  Number normal(double factor) {
    return [this, factor](int64_t) { return factor * random_.normal(); };
  }
  bool adds() const { return is_floating(types_[mask].dtype); }

  // Scores of that spread, v of that size, the mask usual.
  AttentionFamily& add(const std::string& name, double scores = 1, double size = 1) {
    AttentionFamily& family = families_.emplace_back();
    family.name = name;
    for (const auto& type : types_)
      family.inputs.push_back(Tensor::zeros(type));
    fill(family.inputs[q], normal(spread_ * std::sqrt(scores)));
    fill(family.inputs[k], normal(spread_ * std::sqrt(scores)));
    fill(family.inputs[v], normal(size));
    if (types_.size() > mask)
      fill(
          family.inputs[mask], adds() ? normal(1) : [this](int64_t) { return random_.below(4) > 0; });
    return family;
  }

  void values() {
    const bool is_f16 = types_[v].dtype == Dtype::f16;
    add("ordinary");
    add("peaked", 3);
    add("steep", 40);
    add("large values", 1, is_f16 ? 0x1p11 : 0x1p60);
    add("small values", 1, is_f16 ? 0x1p-6 : 0x1p-60);
    // Without the maximum taken off first, these overflow.
    const double far = types_[q].dtype == Dtype::f32 ? 200 : 24;
    AttentionFamily& high = add("high scores");
    const double step = spread_ * std::sqrt(far);
    fill(high.inputs[q], [&](int64_t) { return step + 0.05 * spread_ * random_.normal(); });
    fill(high.inputs[k], [&](int64_t) { return step + 0.05 * spread_ * random_.normal(); });
    AttentionFamily& zeros = add("zeros");
    for (size_t i : {q, k, v})
      fill(zeros.inputs[i], [](int64_t) { return 0.0; });
    fill(add("all keys alike").inputs[q], [](int64_t) { return 0.0; });
  }

  // One by one: what forbids keys, rows that see one, and rows that see none.
  void masks() {
    const double see = adds() ? 0 : 1;
    std::vector<double> forbid{0};
    if (adds()) forbid = {-infinity, -1e9, lowest()};
    for (double no : forbid) {
      const std::string with = adds() ? fmt::format(" by {}", no) : "";
      fill(add("keys forbidden" + with).inputs[mask], [&](int64_t) { return random_.below(3) ? see : no; });
      fill(add("one key seen" + with).inputs[mask], [&](int64_t e) {
        return (7 * (e / mask_columns_) + 3) % mask_columns_ == e % mask_columns_ ? see : no;
      });
      // Scores that are as good as equal: added to a large number they would be lost, but not in double.
      const double scores = std::isinf(no) ? 1 : 1e-6;
      fill(add("rows that see nothing" + with, scores).inputs[mask], [&](int64_t e) {
        return (e / mask_columns_) % 3 == 1 ? no : random_.below(3) ? see : no;
      });
    }
    fill(add("all keys seen").inputs[mask], [&](int64_t) { return see; });
    if (adds())
      fill(add("distances").inputs[mask], [&](int64_t e) { return -0.25 * double(e % mask_columns_); });
  }

  double lowest() const {
    const Dtype dtype = types_[mask].dtype;
    return dtype == Dtype::f16 ? -65504 : dtype == Dtype::bf16 ? -0x1.fep127 : -0x1.fffffep127;
  }

  // Some elements of one input: of the first key, which a causal mask forbids least, of the last, and others.
  void specials() {
    static constexpr const char* names[] = {"q", "k", "v", "the mask"};
    for (auto [what, number] : {std::pair("NaN", nan_value), {"+inf", infinity}, {"-inf", -infinity}})
      for (size_t i = 0; i < types_.size(); ++i) {
        if (!is_floating(types_[i].dtype)) continue;
        Tensor& tensor = add(fmt::format("{} in {}", what, names[i])).inputs[i];
        const int64_t count = tensor.type.elements();
        for (int place = 0; place < 3 && count > 0; ++place)
          tensor.set(random_.below(count), number);
        if (count > 0) tensor.set(0, number), tensor.set(count - 1, number);
      }
  }

  std::vector<TensorType> types_;
  Random random_;
  double spread_ = 1;
  int64_t mask_columns_ = 1;
  std::vector<AttentionFamily> families_;
};

enum class Class : uint8_t { finite, nan, plus_infinity, minus_infinity };

Class class_of_number(double x) {
  if (std::isnan(x)) return Class::nan;
  if (std::isinf(x)) return x > 0 ? Class::plus_infinity : Class::minus_infinity;
  return Class::finite;
}

// Relative to the magnitude; what lies below the smallest numbers of the dtype has no weight.
double relative_error(double number, double oracle, double magnitude, double smallest) {
  if (!std::isfinite(number) || !std::isfinite(oracle) || !std::isfinite(magnitude)) return 0;
  return std::fabs(number - oracle) / std::max(magnitude, smallest);
}

}  // namespace

std::vector<AttentionFamily> make_attention_families(const Graph& written, double scale, uint64_t seed) {
  return Maker(written, scale, seed).run();
}

Result<AttentionReferences> attention_references(const Graph& written, const std::vector<Tensor>& inputs) {
  AttentionReferences references;
  auto positive = inputs;
  for (int64_t e = 0; e < positive[v].type.elements(); ++e)
    positive[v].set(e, std::fabs(positive[v].at(e)));
  struct Run {
    Tensor& into;
    const std::vector<Tensor>& inputs;
    Precision precision;
  };
  for (auto& [into, given, precision] :
       {Run{references.oracle, inputs, Precision::oracle},
        Run{references.magnitude, positive, Precision::oracle},
        Run{references.exact, inputs, Precision::exact}}) {
    auto run = run_reference(written, given, precision);
    if (!run) return run.errors();
    into = std::move(run->at(0));
  }
  return references;
}

AttentionVerdict judge_attention(
    const AttentionReferences& references, const Tensor& eager, const Tensor& got) {
  const auto& [oracle, magnitude, exact] = references;
  constexpr double most_of_exact = 16, least_decisive = 0.125;
  const Dtype dtype = got.type.dtype;
  const double unit = ulp_at(dtype, 1), smallest = 4 * ulp_at(dtype, 0) / unit;
  const int64_t count = got.type.elements();
  auto largest = [&](const Tensor& tensor) {
    double worst = 0;
    for (int64_t e = 0; e < count; ++e)
      worst = std::max(worst, relative_error(tensor.at(e), oracle.at(e), magnitude.at(e), smallest));
    return worst;
  };
  AttentionVerdict verdict;
  const double of_exact = largest(exact), of_eager = largest(eager);
  verdict.written_error =
      of_eager <= most_of_exact * of_exact + 2 * unit ? std::max(of_exact, of_eager) : of_exact;
  verdict.error = largest(got);
  verdict.decides = verdict.written_error <= least_decisive;
  for (int64_t e = 0; e < count; ++e) {
    const double number = got.at(e), right = oracle.at(e);
    const Class kind = class_of_number(number);
    bool good = kind == class_of_number(exact.at(e)) || kind == class_of_number(eager.at(e));
    if (good && kind == Class::finite && number != eager.at(e) && std::isfinite(right) &&
        std::isfinite(magnitude.at(e))) {
      const double allowed =
          2 * verdict.written_error * std::max(magnitude.at(e), smallest) + 2 * ulp_at(dtype, right);
      good = std::fabs(number - right) <= allowed;
    }
    if (good) continue;
    verdict.failure = fmt::format(
        "{}: {} where what is written gives {} (in double {})",
        index_text(got.type.shape, e),
        number,
        eager.at(e),
        right);
    return verdict;
  }
  verdict.passed = true;
  return verdict;
}

}  // namespace autoperfect

#include "pipeline/full_size.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "gate/judge.h"
#include "mlx/mlx.h"
#include "pipeline/region_runner.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

// --- every element, against MLX

constexpr uint64_t draws = 8;
// Integers that floats decide (a comparison, an argmax) turn at single places: inputs move further for them.
constexpr int integer_units = 8;

// Half dtypes round at every op, where ours and MLX's may part by several units.
double tolerance(Dtype dtype) {
  return dtype == Dtype::bf16 ? 0.25 : dtype == Dtype::f16 ? 0.05 : 2e-4;
}

// Floats by some units in the last place, up or down.
Arrays moved(const Arrays& inputs, int units, uint64_t seed) {
  Arrays result;
  for (const auto& input : inputs) {
    Dtype dtype = from_mlx(input.dtype());
    if (!is_floating(dtype)) {
      result.push_back(input);
      continue;
    }
    double unit = dtype == Dtype::bf16 ? 0x1p-7 : dtype == Dtype::f16 ? 0x1p-10 : 0x1p-23;
    auto up = mx::random::bernoulli(mx::array(0.5f), input.shape(), mx::random::key(seed++));
    auto factor = [&](int sign) {
      return mx::array(static_cast<float>(1 + sign * units * unit), mx::float32);
    };
    auto far = mx::astype(input, mx::float32) * mx::where(up, factor(1), factor(-1));
    result.push_back(mx::astype(far, input.dtype()));
  }
  return result;
}

// How far MLX's own results go when the inputs move by a unit in the last place: infinitely where one becomes
// finite, infinite or a NaN.
mx::array reach(const mx::array& theirs, const std::function<mx::array(uint64_t draw)>& theirs_moved) {
  auto farthest = mx::zeros_like(theirs);
  for (uint64_t draw = 1; draw <= draws; ++draw) {
    auto other = mx::astype(theirs_moved(draw), mx::float32);
    auto both_finite = mx::logical_and(mx::isfinite(theirs), mx::isfinite(other));
    auto same =
        mx::logical_or(mx::equal(theirs, other), mx::logical_and(mx::isnan(theirs), mx::isnan(other)));
    auto otherwise = mx::where(same, mx::array(0.0f), mx::array(std::numeric_limits<float>::infinity()));
    farthest = mx::maximum(farthest, mx::where(both_finite, mx::abs(other - theirs), otherwise));
    mx::eval(farthest);
  }
  return farthest;
}

// Where inputs lie near a pole of the region, MLX's own result moves as far when they do by a unit in the
// last place; so far ours may be from it, too, by a small factor. Such elements are few, or the inputs are of
// no use.
bool floats_agree(
    const mx::array& ours,
    const mx::array& theirs,
    Dtype dtype,
    const std::function<mx::array(uint64_t draw)>& theirs_moved) {
  auto a = mx::astype(ours, mx::float32), b = mx::astype(theirs, mx::float32);
  auto finite = mx::where(mx::isfinite(b), mx::abs(b), mx::array(0.0f));
  double scale = mx::sqrt(mx::mean(mx::square(finite))).item<float>();
  const double t = tolerance(dtype), least = t * (scale + 1e-30);
  auto near = mx::isclose(a, b, t, least, true);
  if (mx::all(near).item<bool>()) return true;
  constexpr float most_unsteady = 0.1f, factor = 16, pole = 0.25f;
  auto far = reach(b, theirs_moved);
  auto both_finite = mx::logical_and(mx::isfinite(a), mx::isfinite(b));
  auto within = mx::logical_and(both_finite, mx::less_equal(mx::abs(a - b), mx::array(factor) * far));
  // Rounding may take it over the pole, and so to infinity, or to the other side of it.
  auto over = mx::logical_and(
      mx::greater_equal(far, mx::array(pole) * mx::where(mx::isfinite(b), mx::abs(b), mx::array(0.0f))),
      mx::greater(far, mx::array(static_cast<float>(least))));
  auto good =
      mx::logical_or(near, mx::logical_or(within, mx::logical_and(over, mx::logical_not(both_finite))));
  good = mx::logical_or(good, mx::isinf(far));
  bool few = mx::mean(mx::astype(mx::logical_not(near), mx::float32)).item<float>() < most_unsteady;
  return few && mx::all(good).item<bool>();
}

// Integers and bools are the same, but where floats decide and MLX's own turn as well.
bool integers_agree(
    const mx::array& ours,
    const mx::array& theirs,
    const std::function<mx::array(uint64_t draw)>& theirs_moved) {
  auto good = mx::equal(ours, theirs);
  if (mx::all(good).item<bool>()) return true;
  for (uint64_t draw = 1; draw <= draws; ++draw)
    good = mx::logical_or(good, mx::not_equal(theirs_moved(draw), theirs));
  return mx::all(good).item<bool>();
}

std::string differs_from_mlx(const FullSize& run, const Arrays& theirs) {
  for (size_t i = 0; i < run.ours.size(); ++i) {
    const Dtype dtype = from_mlx(theirs[i].dtype());
    auto moving = [&](int units) {
      return [&run, i, units](uint64_t draw) { return run.mlx(moved(run.inputs, units, 100 * draw)).at(i); };
    };
    const bool agrees = is_floating(dtype) ? floats_agree(run.ours[i], theirs[i], dtype, moving(1))
                                           : integers_agree(run.ours[i], theirs[i], moving(integer_units));
    if (!agrees) return "output " + std::to_string(i) + " differs from MLX eager";
  }
  return "";
}

// --- some rows, as the gate judges

// What the reference can compute in little time, where it must compute all.
constexpr int64_t most_work = int64_t{1} << 24;

// Along such an axis each place of the outputs hangs on that place of the inputs alone.
bool is_separable(const Kernel& kernel, AxisId axis) {
  return std::none_of(kernel.values.begin(), kernel.values.end(), [&](const KernelValue& value) {
    auto counts = [&](const KernelOperand& operand) {
      return operand.kind == KernelOperand::Kind::iota && operand.id == axis;
    };
    return value.scanned == axis ||
           std::find(value.reduced.begin(), value.reduced.end(), axis) != value.reduced.end() ||
           std::any_of(value.operands.begin(), value.operands.end(), counts);
  });
}

// The first, the last, and any others between.
std::vector<int32_t> some_places(int64_t size, int64_t count, std::mt19937_64& random) {
  std::vector<int32_t> places(static_cast<size_t>(size));
  std::iota(places.begin(), places.end(), 0);
  if (count >= size) return places;
  std::swap(places[1], places.back());
  for (size_t p = 2; p < static_cast<size_t>(count); ++p)
    std::swap(places[p], places[p + random() % (places.size() - p)]);
  places.resize(static_cast<size_t>(count));
  std::sort(places.begin(), places.end());
  return places;
}

std::map<AxisId, std::vector<int32_t>> choose_places(const Kernel& kernel, int64_t elements, uint64_t seed) {
  std::map<AxisId, std::vector<int32_t>> places;
  auto sizes = sizes_of_axes(kernel);
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    if (!kernel.axes[a].dynamic || sizes[a] <= 2 || !is_separable(kernel, axis)) continue;
    places[axis] = {};
    sizes[a] = 1;
  }
  if (places.empty()) return places;
  const double each = std::pow(
      static_cast<double>(elements) / static_cast<double>(work_of(resize(kernel, sizes))),
      1.0 / static_cast<double>(places.size()));
  std::mt19937_64 random(seed);
  for (auto& [axis, chosen] : places)
    chosen = some_places(kernel.axes[axis].size, std::max<int64_t>(2, static_cast<int64_t>(each)), random);
  return places;
}

Kernel cut(const Kernel& kernel, const std::map<AxisId, std::vector<int32_t>>& places) {
  auto sizes = sizes_of_axes(kernel);
  for (const auto& [axis, chosen] : places)
    sizes[axis] = static_cast<int64_t>(chosen.size());
  return resize(kernel, sizes);
}

std::vector<Tensor> cut(
    const Arrays& arrays,
    const Kernel& kernel,
    BufferRole role,
    const std::map<AxisId, std::vector<int32_t>>& places) {
  std::vector<Tensor> tensors;
  for (const auto& buffer : kernel.buffers) {
    if (buffer.role != role) continue;
    mx::array array = arrays.at(tensors.size());
    for (size_t d = 0; d < buffer.dynamic_dims.size(); ++d) {
      auto at = places.find(buffer.dynamic_dims[d]);
      if (at == places.end()) continue;
      const auto& chosen = at->second;
      const auto count = static_cast<mx::ShapeElem>(chosen.size());
      array = mx::take(array, mx::array(chosen.begin(), mx::Shape{count}, mx::int32), static_cast<int>(d));
    }
    tensors.push_back(to_tensor(array));
  }
  return tensors;
}

// At these places, all where there are none.
std::string judge_places(
    const FullSize& run, const Arrays& theirs, const std::map<AxisId, std::vector<int32_t>>& places) {
  InputFamily family{"full size", cut(run.kernel, places), {}};
  family.inputs = cut(run.inputs, run.kernel, BufferRole::in, places);
  References references;
  auto oracle = run_reference(family.kernel, family.inputs, Precision::oracle);
  auto exact = run_reference(family.kernel, family.inputs, Precision::exact);
  if (!oracle || !exact) return format(oracle ? exact.errors() : oracle.errors());
  references.oracle = std::move(*oracle);
  references.exact = std::move(*exact);
  references.eager = cut(theirs, run.kernel, BufferRole::out, places);
  auto result = judge(family, references, cut(run.ours, run.kernel, BufferRole::out, places));
  if (result.passed) return "";
  return result.failure + (result.places.empty() ? "" : " computed at " + result.places);
}

std::string wrong_in_some_rows(const FullSize& run, const Arrays& theirs, int64_t elements, uint64_t seed) {
  auto is_dynamic = [](const Axis& axis) { return axis.dynamic; };
  // Without such axes the gate's size is this one.
  if (std::none_of(run.kernel.axes.begin(), run.kernel.axes.end(), is_dynamic)) return "";
  const auto places = choose_places(run.kernel, elements, seed);
  if (work_of(cut(run.kernel, places)) > std::max(elements, most_work)) return "";
  auto wrong = judge_places(run, theirs, places);
  return wrong.empty() ? "" : "of some rows, " + wrong;
}

}  // namespace

// Where MLX seems to say otherwise the contract decides: a value of halves in between may be another by a
// unit.
std::string wrong_at_full_size(const FullSize& run, int64_t elements, uint64_t seed) {
  const auto theirs = run.mlx(run.inputs);
  auto wrong = differs_from_mlx(run, theirs);
  if (wrong.empty()) return wrong_in_some_rows(run, theirs, elements, seed);
  if (work_of(run.kernel) > most_work) return wrong;
  auto judged = judge_places(run, theirs, {});
  return judged.empty() ? "" : wrong + ": " + judged;
}

}  // namespace autoperfect

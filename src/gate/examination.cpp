#include "gate/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "compile/cpu/compile.h"
#include "ir/kernel_text.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

// Iterations of the largest value that the references are computed for, some nanoseconds each.
constexpr int64_t most_work = int64_t{1} << 31;

Diagnostic failure(const std::string& code, const std::string& message) {
  return {"gate", code, message};
}

bool has_dynamic_axis(const Kernel& kernel) {
  return std::any_of(kernel.axes.begin(), kernel.axes.end(), [](const Axis& axis) { return axis.dynamic; });
}

Status compute_references(Examination& examination) {
  auto& families = examination.families;
  examination.references.resize(families.size());
  std::vector<std::optional<Diagnostic>> errors(2 * families.size());
  parallel_for(static_cast<int64_t>(errors.size()), 0, [&](int64_t task, int) {
    const auto& family = families[static_cast<size_t>(task / 2)];
    auto& references = examination.references[static_cast<size_t>(task / 2)];
    const bool in_double = task % 2 == 0;
    auto computed =
        run_reference(family.kernel, family.inputs, in_double ? Precision::oracle : Precision::exact);
    if (!computed)
      errors[static_cast<size_t>(task)] = computed.errors().at(0);
    else
      (in_double ? references.oracle : references.exact) = std::move(*computed);
  });
  for (auto& error : errors) {
    if (error) return *error;
  }
  return Success{};
}

// MLX is called on this thread alone. What it cannot do at these sizes is judged without it.
void run_eager(Examination& examination, const EagerRunner& eager) {
  if (!eager) return;
  for (size_t f = 0; f < examination.families.size(); ++f) {
    auto outputs = eager(examination.families[f].inputs);
    auto& references = examination.references[f];
    if (!outputs || outputs->size() != references.exact.size()) continue;
    bool fits = true;
    for (size_t i = 0; i < outputs->size(); ++i)
      fits = fits && (*outputs)[i].type == references.exact[i].type;
    if (fits) references.eager = std::move(*outputs);
  }
}

}  // namespace

Result<std::shared_ptr<const Examination>> make_examination(
    std::vector<InputFamily> families, const EagerRunner& eager) {
  auto examination = std::make_shared<Examination>();
  examination->families = std::move(families);
  if (auto computed = compute_references(*examination); !computed) return computed.errors();
  run_eager(*examination, eager);
  return std::shared_ptr<const Examination>(examination);
}

Result<std::shared_ptr<const Examination>> common_examination(
    const Kernel& kernel, uint64_t seed, const GateOptions& options, const Guards& guards) {
  static std::mutex mutex;
  static std::string last_key;
  static std::shared_ptr<const Examination> last;
  std::string key = fmt::format(
      "{} {} {} {}\n{}",
      seed,
      options.max_elements,
      options.layers.families,
      bool(options.eager),
      print(kernel));
  for (const auto& guard : guards.sizes)
    key += fmt::format("{} {} {} {}\n", guard.axis, guard.multiple, guard.least, guard.most);
  {
    std::lock_guard lock(mutex);
    if (options.seed && last && last_key == key) return last;
  }
  auto families = make_families(kernel, seed, options.max_elements, guards);
  if (families.size() > options.layers.families) families.resize(options.layers.families);
  auto examination = make_examination(std::move(families), options.eager);
  if (!examination) return examination;
  std::lock_guard lock(mutex);
  last_key = key;
  last = *examination;
  return last;
}

Status can_be_examined(const Kernel& kernel) {
  for (const auto& axis : kernel.axes) {
    if (axis.size == 0 && !axis.dynamic)
      return failure("empty-axis", "axis " + axis.name + " is empty: MLX runs what computes nothing");
  }
  if (work_of(kernel) > most_work && !has_dynamic_axis(kernel))
    return failure("too-large", "the reference executor would take minutes over a kernel of this size");
  return Success{};
}

}  // namespace autoperfect

// Regions that read arguments which are not dense (transposed, broadcast or sliced views): kernels that take
// them as they lie compete with MLX and with the kernels that copy them first.
#include <algorithm>
#include <map>

#include "dispatch/input_layout.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "pipeline/dump.h"
#include "pipeline/pipeline.h"
#include "pipeline/region_runner.h"
#include "tune/machine.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;

// With the strides and the offset that an array has.
Layout exact_layout(const mx::array& array, Layout layout) {
  for (size_t d = 0; d < layout.strides.size(); ++d)
    if (layout.strides[d] == free_stride) layout.strides[d] = array.strides()[d];
  return layout;
}

struct Strided {
  size_t region;
  Kernel kernel, seen;
  std::string layouts;
};

// The kernel on inputs as they lie; nothing when all are dense.
std::optional<Strided> as_they_lie(
    const RegionOutcome& outcome, const std::map<ValueId, const mx::array*>& strided) {
  Strided found{0, outcome.kernel, outcome.kernel, ""};
  for (size_t i = 0; i < outcome.region.inputs.size(); ++i) {
    auto array = strided.find(outcome.region.inputs[i]);
    if (array == strided.end()) continue;
    auto layout = layout_of(*array->second);
    found.kernel.buffers[i].layout = layout;
    found.seen.buffers[i].layout = exact_layout(*array->second, layout);
    found.layouts += found.layouts.empty() ? "" : ", ";
    found.layouts += "%" + found.kernel.buffers[i].name + " " + strides_text(layout.strides);
    for (auto* kernel : {&found.kernel, &found.seen})
      for (auto& buffer : kernel->buffers)
        if (buffer.alias == static_cast<BufferId>(i)) buffer.alias = -1;
  }
  if (found.layouts.empty() || !verify(found.kernel).empty()) return std::nullopt;
  return found;
}

}  // namespace

void Program::tune_strided(const TuneOptions& options, const std::vector<mx::array>& arguments) {
  std::map<ValueId, const mx::array*> arrays;
  for (size_t i = 0; i < captured_.graph.inputs.size(); ++i) {
    const auto& array = i < arguments.size() ? arguments[i] : captured_.constants[i - arguments.size()];
    auto value = canonical_.value_of_source[captured_.graph.inputs[i].value];
    if (value >= 0 && is_strided(array)) arrays[value] = &array;
  }
  std::vector<Strided> all;
  std::vector<TuneTask> tasks;
  std::vector<std::unique_ptr<RegionRunner>> runners;
  for (size_t r = 0; r < outcomes_.size() && !arrays.empty(); ++r) {
    auto& outcome = outcomes_[r];
    if (outcome.signature.empty()) continue;
    auto found = as_they_lie(outcome, arrays);
    if (!found) continue;
    found->region = r;
    dump("lower", [&] { return print(found->kernel); });
    auto plain = [this, &outcome] { return plain_function(outcome.region, outcome.kernel); };
    runners.push_back(std::make_unique<RegionRunner>(found->kernel, plain, stream_));
    runners.back()->take_inputs_as(found->seen, executables_[r]);
    tasks.push_back({found->kernel, runners.back().get()});
    all.push_back(std::move(*found));
  }
  TuneOptions built_in = options;  // models and people are asked about the kernel of dense inputs
  built_in.authors = {};
  auto decisions = tune(tasks, this_machine(), built_in);
  for (size_t t = 0; t < decisions.size(); ++t) {
    auto& [r, kernel, seen, layouts] = all[t];
    auto& outcome = outcomes_[r];
    for (auto timing : decisions[t].timings) {
      timing.name = "strided: " + timing.name;
      outcome.timings.push_back(std::move(timing));
    }
    if (decisions[t].use_mlx) continue;
    auto executable = std::make_shared<Executable>(*make_executable(kernel, decisions[t].runnable));
    if (executables_[r] && executables_[r]->loaded) executable->otherwise = executables_[r];
    executables_[r] = std::move(executable);
    outcome.layouts = layouts;
    outcome.use_mlx = false;
    outcome.winner = decisions[t].winner;
    outcome.reason = decisions[t].reason;
    outcome.evidence = decisions[t].evidence;
    plain_ = false;
  }
}

}  // namespace autoperfect

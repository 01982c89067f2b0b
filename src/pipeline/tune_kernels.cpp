#include "pipeline/tune_kernels.h"

#include <memory>

#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "mlx/mlx.h"
#include "pipeline/region_runner.h"
#include "tune/machine.h"

namespace autoperfect {

namespace mx = mlx::core;

mx::Device kernel_device() {
  auto device = mx::default_device();
  return target_of(device) ? device : mx::Device(mx::Device::cpu);
}

std::vector<RegionOutcome> tune_kernels(const std::vector<Kernel>& kernels, const TuneOptions& options) {
  auto device = kernel_device();
  auto stream = mx::default_stream(device);
  std::vector<std::unique_ptr<RegionRunner>> runners;
  std::vector<TuneTask> tasks;
  for (auto& kernel : kernels) {
    auto plain = [graph = raise(kernel)]() -> ArrayFunction {
      return [graph](const std::vector<mx::array>& inputs) { return interpret(graph, inputs); };
    };
    runners.push_back(std::make_unique<RegionRunner>(kernel, plain, stream));
    tasks.push_back({kernel, runners.back().get()});
  }
  auto decisions = tune(tasks, *target_of(device), options);
  std::vector<RegionOutcome> outcomes;
  for (size_t k = 0; k < kernels.size(); ++k) {
    auto& outcome = outcomes.emplace_back();
    outcome.kernel = kernels[k];
    outcome.signature = signature(kernels[k]);
    outcome.take(std::move(decisions[k]));
  }
  return outcomes;
}

}  // namespace autoperfect

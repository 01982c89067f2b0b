#include "pipeline/calls.h"

#include <algorithm>

#include "compile/cuda/device.h"
#include "mlx/version.h"
#include "support/mlx_settings.h"

namespace autoperfect {

namespace mx = mlx::core;

int calls_in_flight(const mx::Stream& stream, int64_t result_bytes) {
  constexpr int64_t most_calls = 20, most_bytes = int64_t{2} << 30;
  if (stream.device == mx::Device::cpu) return 1;
  return static_cast<int>(std::clamp<int64_t>(most_bytes / (1 + result_bytes), 1, most_calls));
}

Contender calling(const std::string& name, ArrayFunction function, std::vector<mx::array> arrays, int calls) {
  auto run = [function = std::move(function), arrays = std::move(arrays), calls] {
    std::vector<mx::array> results;
    for (int call = 0; call < calls; ++call) {
      auto made = function(arrays);
      results.insert(results.end(), made.begin(), made.end());
    }
    mx::eval(std::move(results));
  };
  return {name, std::move(run), calls};
}

std::string timed_on(const Target& target) {
  std::string text = std::string("mlx ") + mx::version() + "\ntarget " + target.name +
                     " threads=" + std::to_string(target.threads) + "\ndriver " +
                     std::to_string(target.capability ? cuda_driver_version() : 0) + "\n";
  for (const auto& setting : mlx_settings())
    text += setting + "\n";
  return text;
}

}  // namespace autoperfect

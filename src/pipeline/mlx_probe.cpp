// Seconds one small op takes in MLX, its share of an eval included: the longer of two chains less the
// shorter.
#include <algorithm>
#include <chrono>

#include "mlx/ops.h"
#include "mlx/transforms.h"
#include "tune/machine.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;

double seconds_of_chain(const mx::array& x, int ops, mx::Device device) {
  double best = 1;
  for (int round = 0; round < 5; ++round) {
    auto start = std::chrono::steady_clock::now();
    mx::array y = x;
    for (int i = 0; i < ops; ++i)
      y = mx::add(y, x, device);
    mx::eval(y);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double mlx_op_seconds(bool on_gpu) {
  constexpr int few = 32, many = 288;
  mx::Device device = on_gpu ? mx::Device::gpu : mx::Device::cpu;
  mx::array x = mx::ones({8}, device);
  mx::eval(x);
  double difference = seconds_of_chain(x, many, device) - seconds_of_chain(x, few, device);
  return std::max(1e-7, difference / (many - few));
}

[[maybe_unused]] const bool is_set = (set_mlx_probe(mlx_op_seconds), true);

}  // namespace
}  // namespace autoperfect

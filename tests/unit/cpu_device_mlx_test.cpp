// What these programs test are CPU kernels and captures on the CPU, also where MLX's default device is a GPU.
#include "mlx/device.h"

namespace {

[[maybe_unused]] const bool on_the_cpu = (mlx::core::set_default_device(mlx::core::Device::cpu), true);

}  // namespace

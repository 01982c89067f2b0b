// MLX's own variables that its numbers and kernels hang on, "NAME=value" each: part of what is kept about
// them.
#pragma once

#include <string>
#include <vector>

namespace autoperfect {

std::vector<std::string> mlx_settings();

}  // namespace autoperfect

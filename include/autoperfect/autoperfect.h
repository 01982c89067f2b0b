// The C++ face of Auto-Perfect: `auto fast = autoperfect::compile(fn);` with the types of mlx::core::compile.
// `fn` takes and returns vectors of arrays; the result has the same signature and the same answers. What
// cannot be captured, generated or verified runs as plain MLX.
#pragma once

#include "pipeline/pipeline.h"

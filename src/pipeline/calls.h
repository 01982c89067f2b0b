// Calls to be timed as programs make them: on a GPU several to an evaluation, where one alone is all waiting;
// on the CPU one.
#pragma once

#include <string>
#include <vector>

#include "bench/bench.h"
#include "mlx/mlx.h"
#include "pipeline/pipeline.h"

namespace autoperfect {

// As many as fill MLX's unit of work, in memory that is there. result_bytes: of one call.
int calls_in_flight(const mlx::core::Stream& stream, int64_t result_bytes);

// So many calls of the function on these arrays, waited for.
Contender calling(
    const std::string& name, ArrayFunction function, std::vector<mlx::core::array> arrays, int calls);

// What a kept decision by their times hangs on beside the program: MLX, its settings, the machine. Lines of a
// key.
std::string timed_on(const Target& target);

}  // namespace autoperfect

// What mlx.core calls our ops and dtypes, both ways.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/dtype.h"
#include "ir/op.h"

namespace autoperfect {

std::string mlx_function(Op op);                           // "negative" of neg
std::optional<Op> op_of_mlx(std::string_view function);    // of those that become one node
const char* mlx_dtype(Dtype dtype);                        // "mx.float32"
std::optional<Dtype> dtype_of_mlx(std::string_view name);  // of "float32"

}  // namespace autoperfect

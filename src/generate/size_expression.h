// Whole numbers computed from the sizes of a kernel: `ceil_div(n_i * n_j, 256)`. What launches and guards of
// candidates are written in; read once by the check and again at each launch, never compiled.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace autoperfect {

// The size of a name such as `n_i`, or nothing.
using SizeOf = std::function<std::optional<int64_t>(std::string_view name)>;

struct SizeValue {
  std::optional<int64_t> value;
  std::string problem;  // why there is none
};

// + - * / % ( ) of numbers and names, ceil_div(a, b), min(a, b), max(a, b). Overflow and division by 0 are
// problems.
SizeValue evaluate_size(std::string_view expression, const SizeOf& size_of);

}  // namespace autoperfect

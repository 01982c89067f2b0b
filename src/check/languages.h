// The check of each kind of language.
#pragma once

#include "check/check.h"

namespace autoperfect::code {

Result<Checked> check_code(const Kernel& kernel, const Draft& draft, const Target& target);
Result<Checked> check_mlx(const Kernel& kernel, const Draft& draft, const Target& target);

}  // namespace autoperfect::code

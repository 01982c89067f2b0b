#include "check/check.h"

#include <fmt/format.h>

#include "check/languages.h"

namespace autoperfect {

Result<Checked> check(const Kernel& kernel, const Draft& draft, const Target& target) {
  if (draft.language == "mlx") return code::check_mlx(kernel, draft, target);
  for (auto known : languages()) {
    if (draft.language == known) return code::check_code(kernel, draft, target);
  }
  return Diagnostic{
      "check",
      "unknown-language",
      fmt::format("there is no language '{}'", draft.language),
      {},
      "mlx, cpu, cuda or metal"};
}

}  // namespace autoperfect

#include <vector>

#include "generate/language/vocabulary.h"
#include "lower/mlx_names.h"

namespace autoperfect {

std::span<const std::string_view> mlx_functions() {
  // Of ops that the parser of the language takes one call for; library functions are written out.
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found = {
        "arange",
        "broadcast_to",
        "concatenate",
        "isnan",
        "matmul",
        "reshape",
        "take_along_axis",
        "transpose"};
    for (Op op : all_ops()) {
      if (op == Op::cast) continue;  // x.astype()
      const auto op_class = class_of(op);
      if (op_class == OpClass::elementwise || op_class == OpClass::reduction || op_class == OpClass::scan)
        found.push_back(mlx_function(op));
    }
    return found;
  }();
  static const std::vector<std::string_view> views(names.begin(), names.end());
  return views;
}

}  // namespace autoperfect

#include "check/abi.h"

#include <algorithm>

#include "ir/layout.h"

namespace autoperfect::code {

bool Abi::has(std::string_view name) const {
  for (const auto* names : {&inputs, &outputs, &pointers, &ranges, &constants}) {
    if (std::find(names->begin(), names->end(), name) != names->end()) return true;
  }
  return false;
}

std::string size_name(const Axis& axis) {
  return "n_" + axis.name;
}

SizeOf sizes_of(const Kernel& kernel, bool dynamic) {
  return [&kernel, dynamic](std::string_view name) -> std::optional<int64_t> {
    for (const auto& axis : kernel.axes) {
      if (size_name(axis) == name && (dynamic || !axis.dynamic)) return axis.size;
    }
    return std::nullopt;
  };
}

Abi make_abi(const Kernel& kernel, std::string_view language, Part part) {
  Abi abi;
  abi.kernel = with_neutral_names(kernel);
  for (const auto& axis : abi.kernel.axes)
    (axis.dynamic ? abi.ranges : abi.constants).push_back(size_name(axis));
  for (const auto& stride : free_strides(abi.kernel))
    abi.ranges.push_back(stride_name(abi.kernel.buffers[stride.buffer], stride.dimension));
  if (language == "cpu" && part == Part::kernel) {
    abi.pointers = {"scratch", "partial"};
    abi.ranges.insert(abi.ranges.end(), {"begin", "end"});
  } else if (language == "cpu") {
    abi.pointers = {"partials"};
    abi.ranges.push_back("chunks");
    abi.constants.push_back("partial_step");
  } else if (language == "cuda") {
    abi.pointers = {"shared"};
  }
  for (const auto& buffer : abi.kernel.buffers) {
    if (buffer.role == BufferRole::temp)
      abi.pointers.push_back(buffer.name);
    else
      (buffer.role == BufferRole::in ? abi.inputs : abi.outputs).push_back(buffer.name);
  }
  return abi;
}

}  // namespace autoperfect::code

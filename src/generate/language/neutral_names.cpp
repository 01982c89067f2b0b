#include "generate/language/language.h"

namespace autoperfect {

namespace {

std::string axis_name(size_t axis) {
  constexpr std::string_view letters = "ijklmn";
  return axis < letters.size() ? std::string(1, letters[axis]) : "a" + std::to_string(axis);
}

}  // namespace

const std::vector<std::string_view>& languages() {
  static const std::vector<std::string_view> all = {"mlx", "cpu", "cuda", "metal"};
  return all;
}

Kernel with_neutral_names(Kernel kernel) {
  kernel.name = "region";
  int inputs = 0, outputs = 0, temporaries = 0, values = 0;
  for (auto& buffer : kernel.buffers) {
    if (buffer.role == BufferRole::in)
      buffer.name = "in" + std::to_string(inputs++);
    else
      buffer.name = buffer.role == BufferRole::out ? "out" + std::to_string(outputs++)
                                                   : "tmp" + std::to_string(temporaries++);
  }
  for (size_t a = 0; a < kernel.axes.size(); ++a)
    kernel.axes[a].name = axis_name(a);
  for (auto& value : kernel.values)
    value.name = value.output >= 0 ? kernel.buffers[value.output].name : "t" + std::to_string(values++);
  return kernel;
}

std::string stride_name(const Buffer& buffer, size_t dimension) {
  return "s_" + buffer.name + "_" + std::to_string(dimension);
}

}  // namespace autoperfect

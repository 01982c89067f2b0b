#include "generate/schedule/frame.h"

#include <algorithm>

#include "generate/schedule/expression.h"
#include "generate/schedule/scope.h"
#include "ir/layout.h"

namespace autoperfect::schedule {

const char* const signature_text =
    "extern \"C\" void autoperfect_kernel(const void* const* in, void* const* out, void* scratch, void* "
    "partial,\n"
    "    const long* dims, long begin, long end) {\n";
const char* const finish_text =
    "extern \"C\" void autoperfect_finish(const void* const* in, void* const* out, const void* partials, "
    "long chunks,\n"
    "    const long* dims) {\n";

std::string partial_step(int64_t bytes) {
  return "const long partial_step = " + std::to_string(bytes) + ";\n";
}

std::string renamed(
    std::string source, const std::string& part, int64_t partial_bytes, int64_t all_partial_bytes) {
  auto replace = [&](const std::string& from, const std::string& to) {
    if (size_t at = source.find(from); at != std::string::npos) source.replace(at, from.size(), to);
  };
  replace("extern \"C\" void autoperfect_kernel(", "static void part" + part + "(");
  replace("extern \"C\" void autoperfect_finish(", "static void finish" + part + "(");
  replace(partial_step(partial_bytes), partial_step(all_partial_bytes));
  return source;
}

std::string dim_names(const Kernel& kernel, int depth) {
  size_t count = dim_of_axis(kernel, static_cast<AxisId>(kernel.axes.size())) + free_strides(kernel).size();
  std::string text;
  for (size_t place = 0; place < count; ++place) {
    std::string number = std::to_string(place);
    text += indent(depth) + "const long d" + number + " = dims[" + number + "];\n";
  }
  return text;
}

std::string buffer_pointers(const Kernel& kernel, int depth) {
  std::string text = dim_names(kernel, depth);
  int inputs = 0, outputs = 0;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    auto& buffer = kernel.buffers[b];
    if (buffer.role == BufferRole::temp) continue;
    std::string type = element_type(buffer.type.dtype);
    bool in = buffer.role == BufferRole::in;
    std::string cast = in ? "(const " + type + "*)in[" + std::to_string(inputs++) + "]"
                          : "(" + type + "*)out[" + std::to_string(outputs++) + "]";
    text += indent(depth) + "auto* const " + id("b", static_cast<int>(b)) + " = " + cast + ";\n";
  }
  return text;
}

std::string group_indices(
    const Nest& nest,
    const std::vector<int>& groups,
    const std::string& number,
    int depth,
    const std::string& type) {
  std::string text;
  if (groups.empty()) return text;
  text += indent(depth) + type + " rest = " + number + ";\n";
  for (size_t k = groups.size(); k-- > 0;) {
    std::string size = nest.groups[groups[k]].size.text();
    text += indent(depth) + "const " + type + " " + id("g", groups[k]) + " = " +
            (k == 0 ? "rest;\n" : "rest % " + size + ";\n");
    if (k > 0) text += indent(depth) + "rest /= " + size + ";\n";
  }
  return text;
}

}  // namespace autoperfect::schedule

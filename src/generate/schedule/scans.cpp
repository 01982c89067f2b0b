// The part of Body that holds scans: a carry from one vector to the next, and the scan of one vector.
#include <algorithm>
#include <cmath>

#include "generate/schedule/body.h"

namespace autoperfect::schedule {
const char* scan_operation(Op op) {
  switch (op) {
    case Op::cumsum:
      return "ap::Plus";
    case Op::cumprod:
      return "ap::Times";
    case Op::cummax:
      return "ap::Larger";
    case Op::cummin:
      return "ap::Smaller";
    default:
      return "ap::LogAddExp";
  }
}

std::optional<std::string> scan_identity(const KernelValue& value) {
  Dtype dtype = value.dtype;
  bool real = dtype == Dtype::f32 || is_half(dtype);
  if (!real && !is_integer(dtype)) return std::nullopt;
  switch (value.op) {
    case Op::cumsum:
      // -0 + x is x for every x; what an exclusive scan starts with is 0.
      return literal(dtype, real && is_inclusive(value) ? -0.0 : 0.0);
    case Op::cumprod:
      return literal(dtype, 1);
    // MLX's maximum of a NaN and a half is 0 in a scan, so there a scan in parts is another one.
    case Op::cummax:
      if (is_half(dtype)) return std::nullopt;
      return reduction(Op::max, dtype, dtype)->init;
    case Op::cummin:
      if (is_half(dtype)) return std::nullopt;
      return reduction(Op::min, dtype, dtype)->init;
    case Op::logcumsumexp:
      if (real) return literal(dtype, -INFINITY);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool is_inclusive(const KernelValue& value) {
  return value.attributes.get_or("inclusive", true);
}

bool is_reverse(const KernelValue& value) {
  return value.attributes.get_or("reverse", false);
}

// All scans of a kernel go along one group in one direction: that of the lanes, or the loop over columns.
bool Body::scans_supported() const {
  const KernelValue* first = nullptr;
  for (auto& value : kernel_.values) {
    if (!is_scan(value)) continue;
    if (!first) first = &value;
    if (value.scanned != first->scanned || is_reverse(value) != is_reverse(*first)) return false;
    int group = nest_.group_of(value.scanned);
    bool along = nest_.columns() ? nest_.inner_groups == std::vector<int>{group}
                                 : nest_.inner_groups.empty() && group == nest_.vector_group;
    if (!along || nest_.full() || !scan_identity(value)) return false;
  }
  return true;
}

bool Body::runs_backwards() const {
  return std::any_of(kernel_.values.begin(), kernel_.values.end(), [](const KernelValue& value) {
    return is_scan(value) && is_reverse(value);
  });
}

std::vector<int> Body::scans(int sweep) const {
  std::vector<int> found;
  for (size_t v = 0; v < kernel_.values.size(); ++v)
    if (is_scan(kernel_.values[v]) && passes_.ready[v] <= sweep) found.push_back(static_cast<int>(v));
  return found;
}

std::string Body::declare_carries(int sweep, int depth) const {
  std::string text;
  for (int v : scans(sweep))
    text += indent(depth) + vector_type(kernel_.values[v].dtype) + " " + id("c", v) + " = " +
            *scan_identity(kernel_.values[v]) + ";\n";
  return text;
}

std::string Body::scan_expression(Scope& scope, int v) const {
  auto& value = kernel_.values[v];
  std::string x = convert(operand_dtype(kernel_, value, 0), value.dtype, element_operand(scope, value, 0));
  std::string identity = *scan_identity(value), included = is_inclusive(value) ? "true" : "false";
  // Backwards the last elements come first, and lanes past them must count for nothing.
  if (scope.tail && !nest_.columns() && is_reverse(value))
    x = "ap::select(ap::first(n), " + x + ", " + identity + ")";
  std::string text = nest_.columns() ? std::string("ap::scan_rows<") + scan_operation(value.op) + ", " +
                                           included + ">(" + x + ", " + id("c", v) + ")"
                                     : std::string("ap::scan<") + scan_operation(value.op) + ", " +
                                           (is_reverse(value) ? "true" : "false") + ", " + included + ">(" +
                                           x + ", " + id("c", v) + ", " + identity + ")";
  return rounded(value.dtype, text);
}

}  // namespace autoperfect::schedule

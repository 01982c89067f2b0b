// Views and concatenation: results whose elements are all elements of operands.
#include <fmt/format.h>

#include <algorithm>

#include "ir/infer_rules.h"
#include "ir/shape.h"

namespace autoperfect::infer_rules {

namespace {

// Elements that start:stop:stride selects of n, in MLX's (NumPy's) reading of negative numbers.
int64_t slice_size(int64_t n, int64_t start, int64_t stop, int64_t stride) {
  auto from_end = [n](int64_t i) { return i < 0 ? i + n : i; };
  if (stride < 0) {
    int64_t first = std::min(from_end(start), n - 1);
    int64_t last = std::min(std::max<int64_t>(from_end(stop), -1), first);
    return first - last == 0 ? 0 : (first - last - 1) / -stride + 1;
  }
  int64_t first = std::clamp<int64_t>(from_end(start), 0, n);
  int64_t last = std::max(std::clamp<int64_t>(from_end(stop), 0, n), first);
  return last - first == 0 ? 0 : (last - first - 1) / stride + 1;
}

}  // namespace

Result<TensorType> infer_broadcast(const TensorType& operand, const Shape& shape) {
  if (!broadcasts_to(operand.shape, shape)) {
    auto message = fmt::format("{} does not broadcast to {}", to_string(operand.shape), to_string(shape));
    return rule_broken("shape-mismatch", message);
  }
  return checked({operand.dtype, shape});
}

Result<TensorType> infer_reshape(const TensorType& operand, const Shape& shape) {
  auto out = checked({operand.dtype, shape});
  if (!out) return out;
  if (out->elements() != operand.elements()) {
    auto message = fmt::format(
        "{} has {} elements, {} has {}",
        to_string(operand.shape),
        operand.elements(),
        to_string(shape),
        out->elements());
    return rule_broken("shape-mismatch", message);
  }
  return out;
}

Result<TensorType> infer_transpose(const TensorType& operand, const std::vector<int64_t>& axes) {
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool permutes = static_cast<int>(axes.size()) == operand.rank();
  for (size_t i = 0; permutes && i < sorted.size(); ++i)
    permutes = sorted[i] == static_cast<int64_t>(i);
  if (!permutes) {
    auto message = fmt::format("axes {} do not permute {} axes", to_string(axes), operand.rank());
    return rule_broken("axes-permutation", message);
  }
  TensorType out{operand.dtype, {}};
  for (auto axis : axes)
    out.shape.push_back(operand.shape[axis]);
  return out;
}

Result<TensorType> infer_slice(const TensorType& operand, const Attributes& attributes) {
  const auto& start = attributes.get<std::vector<int64_t>>("start");
  const auto& stop = attributes.get<std::vector<int64_t>>("stop");
  const auto& strides = attributes.get<std::vector<int64_t>>("strides");
  auto rank = operand.shape.size();
  if (start.size() != rank || stop.size() != rank || strides.size() != rank) {
    return rule_broken("rank-mismatch", fmt::format("start, stop and strides need {} entries each", rank));
  }
  TensorType out{operand.dtype, {}};
  for (size_t d = 0; d < rank; ++d) {
    if (strides[d] == 0 || strides[d] == INT64_MIN) {
      return rule_broken("slice-stride", fmt::format("stride {} is not possible", strides[d]));
    }
    out.shape.push_back(slice_size(operand.shape[d], start[d], stop[d], strides[d]));
  }
  return out;
}

Result<TensorType> infer_concatenate(const Types& operands, int64_t axis) {
  if (operands.empty()) return rule_broken("arity", "'concatenate' needs an operand");
  TensorType out = operands[0];
  if (axis < 0 || axis >= out.rank())
    return rule_broken("axis-range", fmt::format("axis {} does not exist", axis));
  for (size_t i = 1; i < operands.size(); ++i) {
    const auto& next = operands[i];
    bool fits = next.rank() == out.rank() && next.dtype == out.dtype;
    for (int d = 0; fits && d < out.rank(); ++d)
      fits = d == axis || next.shape[d] == out.shape[d];
    if (!fits) {
      auto message =
          fmt::format("cannot append {} to {} along axis {}", to_string(next), to_string(out), axis);
      return rule_broken("shape-mismatch", message, "dtype, rank and all other sizes are equal");
    }
    out.shape[axis] += next.shape[axis];
    if (!checked_elements(out.shape)) return checked(out);
  }
  return out;
}

}  // namespace autoperfect::infer_rules

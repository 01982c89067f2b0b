// Indexing: gathers, scatters, updates of parts, padding, and views of bytes.
#include <fmt/format.h>

#include <algorithm>

#include "ir/infer_rules.h"
#include "ir/shape.h"

namespace autoperfect::infer_rules {

namespace {

using Axes = std::vector<int64_t>;

Status check_indices(const TensorType& indices) {
  if (is_integer(indices.dtype)) return Success{};
  return rule_broken("dtype-not-allowed", fmt::format("indices are {}, not an integer", name(indices.dtype)));
}

// Every index array has the dtype and shape of the first.
Status check_index_arrays(const Types& indices, const Axes& axes, int rank) {
  if (indices.size() != axes.size()) {
    auto message = fmt::format("{} index arrays for {} axes", indices.size(), axes.size());
    return rule_broken("arity", message);
  }
  if (auto status = check_distinct_axes(axes, rank); !status) return status;
  for (const auto& each : indices) {
    if (auto status = check_indices(each); !status) return status;
    if (!(each == indices[0]))
      return rule_broken("shape-mismatch", "index arrays have one dtype and one shape");
  }
  return Success{};
}

// Where a part of x may start: one integer an axis.
Status check_start(const TensorType& x, const TensorType& start, const Axes& axes) {
  if (auto status = check_indices(start); !status) return status;
  if (auto status = check_distinct_axes(axes, x.rank()); !status) return status;
  if (start.rank() > 1 || start.elements() != static_cast<int64_t>(axes.size()))
    return rule_broken(
        "shape-mismatch", fmt::format("'start' has one number for each of {} axes", axes.size()));
  return Success{};
}

Status check_fits(const Shape& part, const Shape& whole) {
  bool fits = part.size() == whole.size();
  for (size_t d = 0; fits && d < part.size(); ++d)
    fits = part[d] >= 0 && part[d] <= whole[d];
  if (fits) return Success{};
  return rule_broken("shape-mismatch", fmt::format("{} is no part of {}", to_string(part), to_string(whole)));
}

Status check_same_dtype(const TensorType& x, const TensorType& update) {
  if (x.dtype == update.dtype) return Success{};
  auto message = fmt::format("{} does not go into {}", name(update.dtype), name(x.dtype));
  return rule_broken("dtype-mismatch", message, "insert a cast: conversions are explicit");
}

Status check_reduce(const Attributes& attributes, std::initializer_list<std::string_view> known) {
  auto reduce = attributes.get_or("reduce", std::string());
  if (!attributes.has("reduce") || std::find(known.begin(), known.end(), reduce) != known.end())
    return Success{};
  auto hint = fmt::format("it is {}, or left out to assign", fmt::join(known, ", "));
  return rule_broken("attribute-value", fmt::format("reduce=\"{}\" is not known", reduce), hint);
}

}  // namespace

Status check_distinct_axes(const std::vector<int64_t>& axes, int rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank)
      return rule_broken("axis-range", fmt::format("axis {} does not exist", axes[i]));
    if (std::find(axes.begin(), axes.begin() + i, axes[i]) != axes.begin() + i)
      return rule_broken("axes-order", fmt::format("axis {} is given twice", axes[i]));
  }
  return Success{};
}

// Over the elements of a rank-1 operand, and never outside of them.
Result<TensorType> infer_as_strided(const TensorType& operand, const Attributes& attributes) {
  const auto& shape = attributes.get<Shape>("shape");
  const auto& strides = attributes.get<Shape>("strides");
  if (operand.rank() != 1 || shape.size() != strides.size())
    return rule_broken(
        "rank-mismatch", "'as_strided' takes one axis, and gives a stride for each of its own");
  auto out = checked({operand.dtype, shape});
  if (!out || out->elements() == 0) return out;
  __int128 first = attributes.get<int64_t>("offset"), last = first;
  for (size_t d = 0; d < shape.size(); ++d) {
    auto reach = static_cast<__int128>(shape[d] - 1) * strides[d];
    (reach < 0 ? first : last) += reach;
  }
  if (first < 0 || last >= operand.elements())
    return rule_broken("out-of-bounds", fmt::format("this reaches beyond {} elements", operand.elements()));
  return out;
}

Result<TensorType> infer_bitcast(const TensorType& operand, Dtype dtype) {
  TensorType out{dtype, operand.shape};
  int64_t from = size_of(operand.dtype), to = size_of(dtype);
  if (from == to) return out;
  bool divides = out.rank() > 0 && out.shape.back() * from % to == 0;
  if (!divides) {
    auto message =
        fmt::format("the last axis of {} is no whole number of {}", to_string(operand), name(dtype));
    return rule_broken("shape-mismatch", message);
  }
  out.shape.back() = out.shape.back() * from / to;
  return checked(out);
}

Result<TensorType> infer_pad(const Types& operands, const Attributes& attributes) {
  TensorType out = operands[0];
  const auto& axes = attributes.get<Axes>("axes");
  const auto& low = attributes.get<Shape>("low");
  const auto& high = attributes.get<Shape>("high");
  if (auto status = check_distinct_axes(axes, out.rank()); !status) return status.errors();
  if (auto status = check_same_dtype(out, operands[1]); !status) return status.errors();
  if (low.size() != axes.size() || high.size() != axes.size())
    return rule_broken("rank-mismatch", "'low' and 'high' have one number for each axis");
  if (operands[1].rank() != 0) return rule_broken("rank-mismatch", "what is padded with is a scalar");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (low[i] < 0 || high[i] < 0) return rule_broken("attribute-value", "padding is not negative");
    if (low[i] > max_elements || high[i] > max_elements)
      return rule_broken("shape-too-large", "this padding is too large");
    out.shape[axes[i]] += low[i] + high[i];
  }
  return checked(out);
}

Result<TensorType> infer_gather(const Types& operands, const Attributes& attributes) {
  if (operands.empty()) return rule_broken("arity", "'gather' needs an operand");
  const auto& axes = attributes.get<Axes>("axes");
  const auto& sizes = attributes.get<Shape>("sizes");
  Types indices(operands.begin() + 1, operands.end());
  if (auto status = check_index_arrays(indices, axes, operands[0].rank()); !status) return status.errors();
  TensorType out{operands[0].dtype, indices.empty() ? Shape{} : indices[0].shape};
  out.shape.insert(out.shape.end(), sizes.begin(), sizes.end());
  // Of an empty array nothing may be taken; sizes may then be larger than it.
  bool empty = operands[0].elements() == 0 && checked_elements(out.shape) == 0;
  if (sizes.size() != operands[0].shape.size()) empty = false;
  if (auto status = check_fits(sizes, operands[0].shape); !status && !empty) return status.errors();
  return checked(out);
}

Result<TensorType> infer_gather_axis(const TensorType& source, const TensorType& indices, int64_t axis) {
  if (axis < 0 || axis >= source.rank())
    return rule_broken("axis-range", fmt::format("axis {} does not exist", axis));
  if (auto status = check_indices(indices); !status) return status.errors();
  bool fits = indices.rank() == source.rank();
  for (int d = 0; fits && d < source.rank(); ++d)
    fits = d == axis || indices.shape[d] == source.shape[d];
  if (!fits) {
    auto message = fmt::format(
        "indices {} do not fit {} along axis {}", to_string(indices.shape), to_string(source.shape), axis);
    return rule_broken("shape-mismatch", message, "rank and all other sizes are equal");
  }
  return TensorType{source.dtype, indices.shape};
}

Result<TensorType> infer_scatter(const Types& operands, const Attributes& attributes) {
  if (operands.size() < 2) return rule_broken("arity", "'scatter' needs an array and its updates");
  const auto& x = operands[0];
  const auto& updates = operands.back();
  Types indices(operands.begin() + 1, operands.end() - 1);
  if (auto status = check_index_arrays(indices, attributes.get<Axes>("axes"), x.rank()); !status)
    return status.errors();
  if (auto status = check_same_dtype(x, updates); !status) return status.errors();
  if (auto status = check_reduce(attributes, {"sum", "prod", "max", "min"}); !status) return status.errors();
  Shape at = indices.empty() ? Shape{} : indices[0].shape;
  bool prefixed =
      updates.shape.size() >= at.size() && std::equal(at.begin(), at.end(), updates.shape.begin());
  if (!prefixed) {
    auto message = fmt::format("updates {} for indices {}", to_string(updates.shape), to_string(at));
    return rule_broken(
        "shape-mismatch", message, "updates have the axes of the indices, then those of the array");
  }
  Shape part(updates.shape.begin() + static_cast<ptrdiff_t>(at.size()), updates.shape.end());
  if (auto status = check_fits(part, x.shape); !status) return status.errors();
  return x;
}

Result<TensorType> infer_scatter_axis(const Types& operands, const Attributes& attributes) {
  const auto& x = operands[0];
  auto parts = infer_gather_axis(x, operands[1], attributes.get<int64_t>("axis"));
  if (!parts) return parts;
  if (auto status = check_same_dtype(x, operands[2]); !status) return status.errors();
  if (auto status = check_reduce(attributes, {"sum"}); !status) return status.errors();
  if (operands[2].shape != operands[1].shape)
    return rule_broken("shape-mismatch", "there is one value for each index");
  return x;
}

// Each row of x (along its first axis) takes values from its own row of values, in order, where its mask is
// true.
Result<TensorType> infer_masked_scatter(const Types& operands) {
  const auto &x = operands[0], &mask = operands[1], &values = operands[2];
  if (mask.dtype != Dtype::bool_) return rule_broken("dtype-not-allowed", "the mask is not bool");
  if (auto status = check_same_dtype(x, values); !status) return status.errors();
  bool fits = x.rank() > 0 && mask.shape == x.shape && values.rank() > 1 && values.shape[0] == x.shape[0];
  if (!fits)
    return rule_broken(
        "shape-mismatch", "the mask has the shape of the array, the values its first axis and more");
  return x;
}

Result<TensorType> infer_slice_update(const Types& operands, const Attributes& attributes) {
  auto part = infer_slice(operands[0], attributes);
  if (!part) return part;
  if (auto status = check_same_dtype(operands[0], operands[1]); !status) return status.errors();
  if (auto status = check_reduce(attributes, {"sum", "prod", "max", "min"}); !status) return status.errors();
  if (operands[1].shape != part->shape) {
    auto message = fmt::format("{} for a slice of {}", to_string(operands[1].shape), to_string(part->shape));
    return rule_broken("shape-mismatch", message);
  }
  return operands[0];
}

Result<TensorType> infer_dynamic_slice(const Types& operands, const Attributes& attributes) {
  const auto& sizes = attributes.get<Shape>("sizes");
  if (auto status = check_start(operands[0], operands[1], attributes.get<Axes>("axes")); !status)
    return status.errors();
  if (auto status = check_fits(sizes, operands[0].shape); !status) return status.errors();
  return TensorType{operands[0].dtype, sizes};
}

Result<TensorType> infer_dynamic_slice_update(const Types& operands, const Attributes& attributes) {
  if (auto status = check_start(operands[0], operands[2], attributes.get<Axes>("axes")); !status)
    return status.errors();
  if (auto status = check_same_dtype(operands[0], operands[1]); !status) return status.errors();
  if (auto status = check_fits(operands[1].shape, operands[0].shape); !status) return status.errors();
  return operands[0];
}

Result<TensorType> infer_search_sorted(const Types& operands) {
  if (operands[0].rank() != 1) return rule_broken("rank-mismatch", "what is searched has one axis");
  if (auto status = check_same_dtype(operands[0], operands[1]); !status) return status.errors();
  return TensorType{Dtype::u32, operands[1].shape};
}

}  // namespace autoperfect::infer_rules

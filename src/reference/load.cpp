#include "reference/load.h"

#include <fmt/format.h>

#include <algorithm>

namespace autoperfect {

namespace {

size_t place_of(AxisId axis, const std::vector<AxisId>& axes) {
  const auto place = std::find(axes.begin(), axes.end(), axis);
  if (place == axes.end()) throw InternalError("[reference] something varies over an axis its reader lacks");
  return static_cast<size_t>(place - axes.begin());
}

// As MLX counts a negative index from the end. What is still outside is clamped.
int64_t gathered_index(Dtype dtype, Scalar index, int64_t size) {
  if (dtype == Dtype::u64 && index.integer < 0) return size - 1;  // its bits; far beyond any size
  const int64_t from_start = index.integer < 0 ? index.integer + size : index.integer;
  return std::clamp<int64_t>(from_start, 0, size - 1);
}

// The indices of one load at one position after another.
class Indexing {
 public:
  Indexing(const KernelState& state, const KernelOperand& load, const std::vector<AxisId>& axes)
      : state_(state), load_(load), axes_(axes), shape_(state.buffers[load.id]->type.shape) {
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (is_gathered(d)) {
        const auto v = load.gathered[d];
        walks_.push_back(walk_along(*state.values[v], state.kernel.values[v].axes, axes));
      } else {
        walks_.emplace_back();
      }
    }
  }

  int64_t at(size_t d, const std::vector<int64_t>& position) const {
    if (!is_gathered(d)) return value_of(load_.index[d], axes_, position);
    const Array& indices = *state_.values[load_.gathered[d]];
    return gathered_index(indices.type.dtype, indices.at(walks_[d].at(position)), shape_[d]);
  }

 private:
  bool is_gathered(size_t d) const { return load_.gathers() && load_.gathered[d] >= 0; }

  const KernelState& state_;
  const KernelOperand& load_;
  const std::vector<AxisId>& axes_;
  const Shape& shape_;
  std::vector<Walk> walks_;
};

}  // namespace

Shape KernelState::sizes_of(const std::vector<AxisId>& axes) const {
  Shape shape;
  for (auto axis : axes)
    shape.push_back(sizes[axis]);
  return shape;
}

Walk walk_along(const Array& array, const std::vector<AxisId>& own, const std::vector<AxisId>& axes) {
  const auto strides = row_major_strides(array.type.shape);
  Walk walk{0, std::vector<int64_t>(axes.size(), 0)};
  for (size_t d = 0; d < own.size(); ++d)
    walk.strides[place_of(own[d], axes)] = strides[d];
  return walk;
}

int64_t value_of(
    const Affine& affine, const std::vector<AxisId>& axes, const std::vector<int64_t>& position) {
  int64_t value = affine.offset;
  for (const auto& [axis, coefficient] : affine.terms)
    value += coefficient * position[place_of(axis, axes)];
  return value;
}

Result<Loaded> run_load(const KernelState& state, const KernelOperand& load, Where where) {
  const Array& buffer = *state.buffers[load.id];
  const Shape& shape = buffer.type.shape;
  const auto strides = row_major_strides(shape);
  const auto axes = axes_of(state.kernel, load);
  const Indexing indexing(state, load, axes);
  const Scalar otherwise = convert(Dtype::f64, buffer.type.dtype, {load.literal, 0});
  Loaded out{Array({buffer.type.dtype, state.sizes_of(axes)}), axes};
  int64_t element = 0;
  bool leaves = false;
  for_each_position(out.array.type.shape, [&](const std::vector<int64_t>& position) {
    int64_t from = 0;
    bool inside = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t index = indexing.at(d, position);
      inside = inside && index >= 0 && index < shape[d];
      from += index * strides[d];
    }
    leaves = leaves || !inside;
    out.array.set(element++, inside ? buffer.at(from) : otherwise);
  });
  if (!leaves || load.guarded) return out;
  const auto message = fmt::format("an index leaves %{}", state.kernel.buffers[load.id].name);
  return Diagnostic{"reference", "index-out-of-range", message, where};
}

}  // namespace autoperfect

#include <algorithm>
#include <array>

#include "capture/mapping.h"

namespace autoperfect::mapping {

namespace {

namespace mx = mlx::core;

using Ints = std::vector<int64_t>;

// MLX keeps the stop as the caller gave it. Clamped here, so that the same slice always reads the same; "down
// to the first element" stays -(n + 1), as a plain -1 would mean the last one.
MappedPrimitive sliced(Op op, const mx::array& x, const Ints& start, const Ints& stop, const Ints& strides) {
  auto ends = stop;
  for (size_t d = 0; d < ends.size(); ++d) {
    int64_t n = x.shape(static_cast<int>(d));
    int64_t end = ends[d] < 0 ? ends[d] + n : ends[d];
    ends[d] = strides[d] > 0 ? std::clamp<int64_t>(end, 0, n) : end < 0 ? -n - 1 : std::min(end, n - 1);
  }
  return with(op, {{"start", start}, {"stop", ends}, {"strides", strides}});
}

MappedPrimitive map_slice(const mx::array& output) {
  auto [start, stop, strides] = as<mx::Slice>(output).state();
  return sliced(Op::slice, output.inputs()[0], widen(start), widen(stop), widen(strides));
}

// `Reduce` is the enumeration of Scatter, ScatterAxis or SliceUpdate; nothing reduces: the update is
// assigned.
template <class P>
MappedPrimitive reducing(MappedPrimitive mapped, typename P::ReduceType reduce) {
  const char* name = "";
  if (reduce == P::Sum) name = "sum";
  if constexpr (requires { P::Prod; }) {
    if (reduce == P::Prod) name = "prod";
    if (reduce == P::Max) name = "max";
    if (reduce == P::Min) name = "min";
  }
  if (reduce != P::None) mapped.attributes.set("reduce", std::string(name));
  return mapped;
}

MappedPrimitive map_slice_update(const mx::array& output) {
  auto [reduce, start, stop, strides] = as<mx::SliceUpdate>(output).state();
  auto mapped = sliced(Op::slice_update, output, widen(start), widen(stop), widen(strides));
  return reducing<mx::SliceUpdate>(std::move(mapped), reduce);
}

MappedPrimitive map_dynamic_slice(const mx::array& output) {
  auto [axes, sizes] = as<mx::DynamicSlice>(output).state();
  return with(Op::dynamic_slice, {{"axes", widen(axes)}, {"sizes", widen(sizes)}});
}

MappedPrimitive map_dynamic_slice_update(const mx::array& output) {
  return with(Op::dynamic_slice_update, {{"axes", widen(as<mx::DynamicSliceUpdate>(output).state())}});
}

MappedPrimitive map_gather(const mx::array& output) {
  auto [axes, sizes] = as<mx::Gather>(output).state();
  return with(Op::gather, {{"axes", widen(axes)}, {"sizes", widen(sizes)}});
}

MappedPrimitive map_scatter(const mx::array& output) {
  auto [reduce, axes] = as<mx::Scatter>(output).state();
  return reducing<mx::Scatter>(with(Op::scatter, {{"axes", widen(axes)}}), reduce);
}

MappedPrimitive map_scatter_axis(const mx::array& output) {
  auto [reduce, axis] = as<mx::ScatterAxis>(output).state();
  return reducing<mx::ScatterAxis>(with(Op::scatter_axis, {{"axis", int64_t{axis}}}), reduce);
}

// MLX keeps the axes as the caller gave them. Counted from the first and in order here, so that the same
// padding always reads the same.
MappedPrimitive map_pad(const mx::array& output) {
  auto [axes, low, high] = as<mx::Pad>(output).state();
  std::vector<std::array<int64_t, 3>> rows;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(output.ndim()) : axes[i];
    rows.push_back({axis, low[i], high[i]});
  }
  std::sort(rows.begin(), rows.end());
  auto column = [&](size_t c) {
    Ints values;
    for (const auto& row : rows)
      values.push_back(row[c]);
    return values;
  };
  return with(Op::pad, {{"axes", column(0)}, {"low", column(1)}, {"high", column(2)}});
}

MappedPrimitive map_as_strided(const mx::array& output) {
  auto [shape, strides, offset] = as<mx::AsStrided>(output).state();
  return with(
      Op::as_strided,
      {{"shape", shape_of(output)}, {"strides", widen(strides)}, {"offset", static_cast<int64_t>(offset)}});
}

MappedPrimitive map_transpose(const mx::array& output) {
  return with(Op::transpose, {{"axes", widen(as<mx::Transpose>(output).state())}});
}

MappedPrimitive map_search_sorted(const mx::array& output) {
  return flagged({Op::search_sorted, {}}, "right", as<mx::SearchSorted>(output).state());
}

}  // namespace

const Table& movement() {
  static const Table table = {
      {"Broadcast", to_shape<Op::broadcast>},
      {"BroadcastAxes", to_shape<Op::broadcast>},
      {"Reshape", to_shape<Op::reshape>},
      {"ExpandDims", to_shape<Op::reshape>},
      {"Squeeze", to_shape<Op::reshape>},
      {"Flatten", to_shape<Op::reshape>},
      {"Unflatten", to_shape<Op::reshape>},
      {"Transpose", map_transpose},
      {"Slice", map_slice},
      {"AsStrided", map_as_strided},
      {"View", to_dtype<Op::bitcast>},
      {"Concatenate", along_axis<mx::Concatenate, Op::concatenate>},
      {"Pad", map_pad},
      {"Gather", map_gather},
      {"GatherAxis", along_axis<mx::GatherAxis, Op::gather_axis>},
      {"Scatter", map_scatter},
      {"ScatterAxis", map_scatter_axis},
      {"SliceUpdate", map_slice_update},
      {"DynamicSlice", map_dynamic_slice},
      {"DynamicSliceUpdate", map_dynamic_slice_update},
      {"SearchSorted", map_search_sorted},
  };
  return table;
}

}  // namespace autoperfect::mapping

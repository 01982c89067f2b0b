// The parts of map_primitive(), by meaning: for each MLX class with a state, the op and the attributes it
// stands for. A mapper gives `opaque` where the state says something our ops do not.
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>

#include "capture/capture.h"
#include "capture/primitive_table.h"

namespace autoperfect::mapping {

using Mapper = MappedPrimitive (*)(const mlx::core::array& output);
using Table = std::unordered_map<std::string_view, Mapper>;

const Table& arithmetic();    // map_arithmetic.cpp: elementwise, reductions, scans, sources
const Table& movement();      // map_movement.cpp: views, indexing, data movement
const Table& contractions();  // map_contractions.cpp: matrices, convolutions, quantized or not
const Table& library();       // map_library.cpp: what MLX keeps whole
const Table& barriers();      // map_barriers.cpp: sorts, random bits, transforms, factorizations

template <class P>
const P& as(const mlx::core::array& output) {
  return static_cast<const P&>(output.primitive());
}

std::vector<int64_t> widen(const auto& values) {
  return {values.begin(), values.end()};
}
inline Shape shape_of(const mlx::core::array& a) {
  return widen(a.shape());
}

inline MappedPrimitive with(Op op, std::initializer_list<std::pair<const char*, AttributeValue>> entries) {
  MappedPrimitive mapped{op, {}};
  for (const auto& [name, value] : entries)
    mapped.attributes.set(name, value);
  return mapped;
}

// A flag that is false unless given.
inline MappedPrimitive flagged(MappedPrimitive mapped, const char* name, bool value) {
  if (value) mapped.attributes.set(name, true);
  return mapped;
}

// The axis of an op that has nothing else, and the dtype of one that only changes it.
template <class P, Op op>
MappedPrimitive along_axis(const mlx::core::array& output) {
  return with(op, {{"axis", int64_t{as<P>(output).state()}}});
}
template <Op op>
MappedPrimitive to_dtype(const mlx::core::array& output) {
  return with(op, {{"dtype", from_mlx(output.dtype())}});
}
template <Op op>
MappedPrimitive to_shape(const mlx::core::array& output) {
  return with(op, {{"shape", shape_of(output)}});
}

}  // namespace autoperfect::mapping

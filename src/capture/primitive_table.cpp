#include "capture/primitive_table.h"

#include <charconv>
#include <typeinfo>
#include <unordered_map>

#include "capture/capture.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;

std::vector<int64_t> widen(const auto& values) {
  return {values.begin(), values.end()};
}
Shape shape_of(const mx::array& a) {
  return widen(a.shape());
}

template <class P>
const P& as(const mx::array& output) {
  return static_cast<const P&>(output.primitive());
}

// Ops whose meaning is in the class alone: MLX's class -> op.
const std::unordered_map<std::string_view, Op>& plain() {
  static const auto table = [] {
    std::unordered_map<std::string_view, Op> found;
    for (auto op : all_ops()) {
      if (!attribute_text(op).empty()) continue;
      for (auto primitive : mlx_primitives(op))
        found.emplace(primitive, op);
    }
    return found;
  }();
  return table;
}

MappedPrimitive with(Op op, std::initializer_list<std::pair<const char*, AttributeValue>> entries) {
  MappedPrimitive mapped{op, {}};
  for (const auto& [name, value] : entries)
    mapped.attributes.set(name, value);
  return mapped;
}

MappedPrimitive map_reduce(const mx::array& output) {
  auto [type, axes] = as<mx::Reduce>(output).state();
  auto op = [type = type] {
    switch (type) {
      case mx::Reduce::And:
        return Op::all;
      case mx::Reduce::Or:
        return Op::any;
      case mx::Reduce::Sum:
        return Op::sum;
      case mx::Reduce::Prod:
        return Op::prod;
      case mx::Reduce::Min:
        return Op::min;
      case mx::Reduce::Max:
        return Op::max;
    }
    return Op::opaque;
  }();
  return with(op, {{"axes", widen(axes)}, {"keepdims", true}});
}

MappedPrimitive map_arg_reduce(const mx::array& output) {
  auto [type, axis] = as<mx::ArgReduce>(output).state();
  auto op = type == mx::ArgReduce::ArgMax ? Op::argmax : Op::argmin;
  return with(op, {{"axis", int64_t{axis}}, {"keepdims", true}});
}

MappedPrimitive map_log(const mx::array& output) {
  switch (as<mx::Log>(output).state()) {
    case mx::Log::two:
      return {Op::log2, {}};
    case mx::Log::ten:
      return {Op::log10, {}};
    case mx::Log::e:
      return {Op::log, {}};
  }
  return {};
}

MappedPrimitive map_bitwise(const mx::array& output) {
  switch (as<mx::BitwiseBinary>(output).state()) {
    case mx::BitwiseBinary::And:
      return {Op::bitwise_and, {}};
    case mx::BitwiseBinary::Or:
      return {Op::bitwise_or, {}};
    case mx::BitwiseBinary::Xor:
      return {Op::bitwise_xor, {}};
    case mx::BitwiseBinary::LeftShift:
      return {Op::left_shift, {}};
    case mx::BitwiseBinary::RightShift:
      return {Op::right_shift, {}};
  }
  return {};
}

// MLX keeps the stop as the caller gave it. Clamped here, so that the same slice always reads the same; "down
// to the first element" stays -(n + 1), as a plain -1 would mean the last one.
MappedPrimitive map_slice(const mx::array& output) {
  auto [start, stop, strides] = as<mx::Slice>(output).state();
  auto ends = widen(stop);
  for (size_t d = 0; d < ends.size(); ++d) {
    int64_t n = output.inputs()[0].shape(static_cast<int>(d));
    int64_t end = ends[d] < 0 ? ends[d] + n : ends[d];
    ends[d] = strides[d] > 0 ? std::clamp<int64_t>(end, 0, n) : end < 0 ? -n - 1 : std::min(end, n - 1);
  }
  return with(Op::slice, {{"start", widen(start)}, {"stop", ends}, {"strides", widen(strides)}});
}

MappedPrimitive map_arange(const mx::array& output) {
  auto [start, stop, step] = as<mx::Arange>(output).state();
  return with(
      Op::arange,
      {{"start", start},
       {"step", step},
       {"size", static_cast<int64_t>(output.size())},
       {"dtype", from_mlx(output.dtype())}});
}

MappedPrimitive map_reshape(const mx::array& output) {
  return with(Op::reshape, {{"shape", shape_of(output)}});
}

MappedPrimitive map_broadcast(const mx::array& output) {
  return with(Op::broadcast, {{"shape", shape_of(output)}});
}

using Mapper = MappedPrimitive (*)(const mx::array& output);
const std::unordered_map<std::string_view, Mapper> with_state = {
    {"Reduce", map_reduce},
    {"ArgReduce", map_arg_reduce},
    {"Log", map_log},
    {"BitwiseBinary", map_bitwise},
    {"Slice", map_slice},
    {"Arange", map_arange},
    {"Broadcast", map_broadcast},
    {"BroadcastAxes", map_broadcast},
    {"Reshape", map_reshape},
    {"ExpandDims", map_reshape},
    {"Squeeze", map_reshape},
    {"Flatten", map_reshape},
    {"Unflatten", map_reshape},
    {"Full",
     [](const mx::array& a) {
       return with(Op::full, {{"shape", shape_of(a)}});
     }},
    {"AsType",
     [](const mx::array& a) {
       return with(Op::cast, {{"dtype", from_mlx(a.dtype())}});
     }},
    {"Sqrt",
     [](const mx::array& a) {
       return MappedPrimitive{as<mx::Sqrt>(a).state() ? Op::rsqrt : Op::sqrt, {}};
     }},
    {"Equal",
     [](const mx::array& a) {
       return with(Op::equal, {{"nan_equal", as<mx::Equal>(a).state()}});
     }},
    {"Softmax",
     [](const mx::array& a) {
       return with(Op::softmax, {{"precise", as<mx::Softmax>(a).state()}});
     }},
    {"Transpose",
     [](const mx::array& a) {
       return with(Op::transpose, {{"axes", widen(as<mx::Transpose>(a).state())}});
     }},
    {"Concatenate",
     [](const mx::array& a) {
       return with(Op::concatenate, {{"axis", int64_t{as<mx::Concatenate>(a).state()}}});
     }},
    {"GatherAxis",
     [](const mx::array& a) {
       return with(Op::gather_axis, {{"axis", int64_t{as<mx::GatherAxis>(a).state()}}});
     }},
};

std::optional<Op> op_of(const mx::Primitive& primitive) {
  auto name = class_name(primitive);
  if (name == "AsType") return Op::cast;
  if (name == "Arange") return Op::arange;
  if (name == "Full") return Op::full;
  if (name == "Broadcast") return Op::broadcast;
  if (name == "Transpose") return Op::transpose;
  if (name == "Slice") return Op::slice;
  auto found = with_state.find(name);
  if (found != with_state.end() && found->second == map_reshape) return Op::reshape;
  return std::nullopt;
}

}  // namespace

std::string class_name(const mx::Primitive& primitive) {
  // Itanium: N 3mlx 4core [<length><namespace>] <length><name> E.
  constexpr std::string_view prefix = "N3mlx4core";
  std::string_view text = typeid(primitive).name();
  if (!text.starts_with(prefix) || !text.ends_with('E')) return {};
  text = text.substr(prefix.size(), text.size() - prefix.size() - 1);
  std::string name;
  while (!text.empty()) {
    size_t length = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    text.remove_prefix(end - text.data());
    if (error != std::errc{} || length > text.size()) return {};
    name += (name.empty() ? "" : "::") + std::string(text.substr(0, length));
    text.remove_prefix(length);
  }
  return name;
}

std::optional<MappedPrimitive> map_primitive(const mx::array& output) {
  auto name = class_name(output.primitive());
  if (auto found = with_state.find(name); found != with_state.end()) return found->second(output);
  if (auto found = plain().find(name); found != plain().end()) return MappedPrimitive{found->second, {}};
  return std::nullopt;
}

Op barrier_of(const mx::Primitive& primitive) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Op> found;
    for (auto op : all_ops()) {
      if (!needs_its_primitive(op)) continue;
      for (auto each : mlx_primitives(op))
        found.emplace(each, op);
    }
    return found;
  }();
  auto found = table.find(class_name(primitive));
  return found == table.end() ? Op::opaque : found->second;
}

bool is_view(const mx::Primitive& primitive) {
  auto op = op_of(primitive);
  return op && class_of(*op) == OpClass::view;
}

ConstantCost constant_cost(const mx::Primitive& primitive) {
  auto op = op_of(primitive);
  if (op == Op::arange) return ConstantCost::none;
  return op ? ConstantCost::of_input : ConstantCost::data;
}

}  // namespace autoperfect

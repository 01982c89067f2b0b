#include "capture/primitive_table.h"

#include <charconv>
#include <typeinfo>

#include "capture/mapping.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;

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

const mapping::Table& with_state() {
  static const auto table = [] {
    mapping::Table all;
    for (auto* part :
         {mapping::arithmetic, mapping::movement, mapping::contractions, mapping::library, mapping::barriers})
      all.insert(part().begin(), part().end());
    return all;
  }();
  return table;
}

// The op whose class alone tells it apart from all others.
Op op_of(const mx::Primitive& primitive) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Op> found;
    for (auto op : all_ops()) {
      for (auto each : mlx_primitives(op))
        found.emplace(each, op);
    }
    return found;
  }();
  auto found = table.find(class_name(primitive));
  return found == table.end() ? Op::opaque : found->second;
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
  if (auto found = with_state().find(name); found != with_state().end()) {
    auto mapped = found->second(output);
    if (mapped.op != Op::opaque) return mapped;
  } else if (auto known = plain().find(name); known != plain().end()) {
    return MappedPrimitive{known->second, {}};
  }
  return std::nullopt;
}

Op barrier_of(const mx::Primitive& primitive) {
  auto op = op_of(primitive);
  return needs_its_primitive(op) ? op : Op::opaque;
}

bool is_view(const mx::Primitive& primitive) {
  return class_of(op_of(primitive)) == OpClass::view;
}

bool stays_cheap(Op op) {
  switch (class_of(op)) {
    case OpClass::elementwise:
    case OpClass::reduction:
    case OpClass::view:
      return true;
    default:
      break;
  }
  switch (op) {
    case Op::arange:
    case Op::full:
    case Op::concatenate:
    case Op::pad:
    case Op::slice_update:
    case Op::split:
    case Op::divmod:
    case Op::softmax:
    case Op::logsumexp:
    case Op::rms_norm:
    case Op::layer_norm:
    case Op::rope:
      return true;
    default:
      return false;
  }
}

}  // namespace autoperfect

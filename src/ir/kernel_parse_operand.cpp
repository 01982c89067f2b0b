// Operands: %t[i], %x[2*i+j,1], %x[i,j-2] else 0.0, %table[%id[i],j], iota i, 0.5
#include <fmt/format.h>

#include "ir/attribute_text.h"
#include "ir/kernel_parser.h"

namespace autoperfect::kernel_parser {

// An index that consists of axes, as those of values do.
bool as_axes(
    TextReader& reader, const std::vector<Affine>& index, const Where& where, std::vector<AxisId>& axes) {
  for (const auto& affine : index) {
    if (affine.offset != 0 || affine.terms.size() != 1 || affine.terms[0].second != 1) {
      reader.report(
          "not-an-axis", "a value is written with its axes alone", where, "index maps are for buffers");
      return false;
    }
    axes.push_back(affine.terms[0].first);
  }
  return true;
}

namespace {

// Whether a value is written with exactly its axes.
bool parse_axes_of(State& state, KernelValueId id, const Token& name) {
  auto index = parse_index(state.reader, state.axes);
  std::vector<AxisId> axes;
  if (!index || !as_axes(state.reader, *index, name.where, axes)) return false;
  const auto& value = state.kernel.values[id];
  if (axes == value.axes) return true;
  std::vector<std::string> wanted;
  for (auto axis : value.axes)
    wanted.push_back(state.kernel.axes[axis].name);
  state.reader.report(
      "axes-mismatch",
      fmt::format("%{} is used with other axes than it has", name.text),
      name.where,
      fmt::format("write %{}[{}]", name.text, fmt::join(wanted, ",")));
  return false;
}

// %id[i] as the index of a dimension
bool parse_gathered(State& state, KernelOperand& load) {
  auto name = state.reader.next();
  auto value = state.values.find(name.text);
  if (value == state.values.end()) {
    bool is_buffer = state.buffers.count(name.text) > 0;
    state.reader.report(
        "undefined-value",
        fmt::format("the index %{} is not a value defined above", name.text),
        name.where,
        is_buffer ? fmt::format("make it one: %n = copy %{}[...]", name.text)
                  : "values are defined above their uses");
    return false;
  }
  if (value->second == poisoned || !parse_axes_of(state, value->second, name)) return false;
  load.gathered.resize(load.index.size(), -1);
  load.gathered.push_back(value->second);
  load.index.push_back({});
  return true;
}

// [i,2*j+1], [%id[i],j]
bool parse_load_index(State& state, KernelOperand& load) {
  auto& reader = state.reader;
  if (!reader.expect("[")) return false;
  while (!reader.at("]")) {
    if (!load.index.empty() && !reader.expect(",")) return false;
    if (reader.at(TokenKind::value)) {
      if (!parse_gathered(state, load)) return false;
      continue;
    }
    auto affine = parse_affine(reader, state.axes);
    if (!affine) return false;
    load.index.push_back(std::move(*affine));
  }
  reader.next();
  if (load.gathers()) load.gathered.resize(load.index.size(), -1);
  return true;
}

// true, inf, -0.5
std::optional<double> parse_literal(TextReader& reader) {
  if (reader.at("true") || reader.at("false")) return reader.next().text == "true";
  if (reader.at(TokenKind::number) || reader.at("inf") || reader.at("nan")) return parse_double(reader);
  reader.report_unexpected("an operand");
  return std::nullopt;
}

bool parse_guard(State& state, KernelOperand& load) {
  if (!state.reader.take("else")) return true;
  load.guarded = true;
  auto literal = parse_literal(state.reader);
  if (literal) load.literal = *literal;
  return literal.has_value();
}

std::optional<KernelOperand> parse_value_use(State& state, KernelValueId id, const Token& name) {
  if (!parse_axes_of(state, id, name)) return std::nullopt;
  if (state.reader.at("else")) {
    state.reader.report(
        "not-a-load",
        fmt::format("%{} is a value, which no index leaves", name.text),
        state.reader.peek().where,
        "'else' follows the load of an input");
    return std::nullopt;
  }
  KernelOperand operand;
  operand.id = id;
  return operand;
}

// A value above, or a load.
std::optional<KernelOperand> parse_reference(State& state) {
  auto name = state.reader.next();
  auto value = state.values.find(name.text);
  if (value != state.values.end()) {
    if (value->second == poisoned) return std::nullopt;
    return parse_value_use(state, value->second, name);
  }
  auto buffer = state.buffers.find(name.text);
  if (buffer != state.buffers.end() && state.kernel.buffers[buffer->second].role == BufferRole::in) {
    KernelOperand load;
    load.kind = KernelOperand::Kind::load;
    load.id = buffer->second;
    if (!parse_load_index(state, load) || !parse_guard(state, load)) return std::nullopt;
    return load;
  }
  state.reader.report(
      "undefined-value",
      fmt::format("%{} is neither an input nor defined above", name.text),
      name.where,
      "values are defined above their uses");
  return std::nullopt;
}

std::optional<KernelOperand> parse_operand(State& state) {
  auto& reader = state.reader;
  if (reader.at(TokenKind::value)) return parse_reference(state);
  KernelOperand operand;
  if (reader.take("iota")) {
    auto axis = parse_axis(reader, state.axes);
    if (!axis) return std::nullopt;
    operand.kind = KernelOperand::Kind::iota;
    operand.id = *axis;
    return operand;
  }
  operand.kind = KernelOperand::Kind::literal;
  auto literal = parse_literal(reader);
  if (!literal) return std::nullopt;
  operand.literal = *literal;
  return operand;
}

}  // namespace

bool parse_operands(State& state, KernelValue& value) {
  do {
    if (!value.operands.empty()) state.reader.next();  // ','
    auto operand = parse_operand(state);
    if (!operand) return false;
    value.operands.push_back(std::move(*operand));
  } while (state.reader.at(","));
  return true;
}

}  // namespace autoperfect::kernel_parser

// Statements: %total[i] = sum(j) %x[i,j] : f32
#include <fmt/format.h>

#include <algorithm>

#include "ir/attribute_text.h"
#include "ir/kernel_parser.h"
#include "support/spelling.h"

namespace autoperfect::kernel_parser {

namespace {

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

// [i,j], or for an output the store map
bool parse_target(State& state, KernelValue& value) {
  auto buffer = state.buffers.find(value.name);
  auto index = parse_index(state.reader, state.axes);
  if (!index) return false;
  bool is_output =
      buffer != state.buffers.end() && state.kernel.buffers[buffer->second].role == BufferRole::out;
  if (!is_output) return as_axes(state.reader, *index, value.where, value.axes);
  value.output = buffer->second;
  for (const auto& affine : *index) {
    for (const auto& term : affine.terms)
      value.axes.push_back(term.first);
  }
  std::sort(value.axes.begin(), value.axes.end());
  value.axes.erase(std::unique(value.axes.begin(), value.axes.end()), value.axes.end());
  value.store = std::move(*index);
  return true;
}

// sum(j)
bool parse_op(State& state, KernelValue& value) {
  auto& reader = state.reader;
  auto word = reader.expect(TokenKind::word, "an op");
  if (!word) return false;
  value.where = word->where;
  auto op = autoperfect::parse_op(word->text);
  if (!op) {
    auto near = nearest_word(word->text, all_op_names());
    auto hint = near.empty() ? "ops.def lists all ops" : fmt::format("did you mean '{}'?", near);
    reader.report("unknown-op", fmt::format("no op is called '{}'", word->text), word->where, hint);
    return false;
  }
  value.op = *op;
  if (!reader.take("(")) return true;
  while (!reader.at(")")) {
    if (!value.reduced.empty() && !reader.expect(",")) return false;
    auto axis = parse_axis(reader, state.axes);
    if (!axis) return false;
    value.reduced.push_back(*axis);
  }
  reader.next();
  return true;
}

std::optional<KernelOperand> reference_to(
    State& state, KernelValueId id, const Token& name, const std::vector<Affine>& index) {
  KernelOperand operand;
  operand.kind = KernelOperand::Kind::value;
  operand.id = id;
  std::vector<AxisId> axes;
  if (!as_axes(state.reader, index, name.where, axes)) return std::nullopt;
  const auto& value = state.kernel.values[id];
  if (axes == value.axes) return operand;
  std::vector<std::string> wanted;
  for (auto axis : value.axes)
    wanted.push_back(state.kernel.axes[axis].name);
  state.reader.report(
      "axes-mismatch",
      fmt::format("%{} is used with other axes than it has", name.text),
      name.where,
      fmt::format("write %{}[{}]", name.text, fmt::join(wanted, ",")));
  return std::nullopt;
}

// A value above, or a load.
std::optional<KernelOperand> parse_reference(State& state) {
  auto name = state.reader.next();
  auto index = parse_index(state.reader, state.axes);
  if (!index) return std::nullopt;
  auto value = state.values.find(name.text);
  if (value != state.values.end()) {
    if (value->second == poisoned) return std::nullopt;
    return reference_to(state, value->second, name, *index);
  }
  auto buffer = state.buffers.find(name.text);
  if (buffer != state.buffers.end() && state.kernel.buffers[buffer->second].role == BufferRole::in) {
    KernelOperand operand;
    operand.kind = KernelOperand::Kind::load;
    operand.id = buffer->second;
    operand.index = std::move(*index);
    return operand;
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
  if (reader.at("true") || reader.at("false")) {
    operand.literal = reader.next().text == "true";
    return operand;
  }
  if (!reader.at(TokenKind::number) && !reader.at("inf") && !reader.at("nan")) {
    reader.report_unexpected("an operand");
    return std::nullopt;
  }
  auto number = parse_double(reader);
  if (!number) return std::nullopt;
  operand.literal = *number;
  return operand;
}

bool parse_operands(State& state, KernelValue& value) {
  do {
    if (!value.operands.empty()) state.reader.next();  // ','
    auto operand = parse_operand(state);
    if (!operand) return false;
    value.operands.push_back(std::move(*operand));
  } while (state.reader.at(","));
  return true;
}

bool is_poisoned(const State& state, std::string_view name) {
  auto found = state.values.find(name);
  return found != state.values.end() && found->second == poisoned;
}

}  // namespace

bool parse_statement(State& state) {
  auto& reader = state.reader;
  auto name = reader.expect(TokenKind::value, "a value, such as %t[i] = exp %x[i] : f32");
  // Without axes, or with its buffer in error, a statement would only repeat what was reported already.
  if (!name || state.axes_in_error || is_poisoned(state, name->text)) return false;
  KernelValue value;
  value.name = name->text;
  value.where = name->where;
  bool good = parse_target(state, value) && reader.expect("=") && parse_op(state, value) &&
              parse_operands(state, value) && parse_attributes(reader, value.attributes) &&
              reader.expect(":");
  auto dtype = good ? parse_dtype(reader) : std::nullopt;
  if (!dtype) {
    state.values.emplace(name->text, poisoned);
    return false;
  }
  value.dtype = *dtype;
  state.values.emplace(name->text, static_cast<KernelValueId>(state.kernel.values.size()));
  state.kernel.values.push_back(std::move(value));
  return true;
}

}  // namespace autoperfect::kernel_parser

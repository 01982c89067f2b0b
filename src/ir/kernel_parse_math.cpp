// Statements: %total[i] = sum(j) %x[i,j] : f32
#include <fmt/format.h>

#include <algorithm>

#include "ir/attribute_text.h"
#include "ir/kernel_parser.h"
#include "support/spelling.h"

namespace autoperfect::kernel_parser {

namespace {

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

// sum(j), cumsum(j), matmul(k)
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
  if (class_of(*op) != OpClass::scan) return true;
  if (value.reduced.size() != 1) {
    reader.report(
        "scanned-axis",
        fmt::format("'{}' runs along one axis, not {}", name(*op), value.reduced.size()),
        word->where,
        "a scan runs along one of its axes: %y[i,j] = cumsum(j)");
    return false;
  }
  value.scanned = value.reduced[0];
  value.reduced.clear();
  return true;
}

// Its line above or its buffer was in error. A part of an output stands for itself, whatever became of
// others.
bool is_poisoned(const State& state, std::string_view name) {
  auto found = state.values.find(name);
  return found != state.values.end() && found->second == poisoned && !state.buffers.count(name);
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

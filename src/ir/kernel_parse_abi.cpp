// Buffers and axes: what the statements of the math refer to.
#include <fmt/format.h>

#include "ir/attribute_text.h"
#include "ir/kernel_parser.h"

namespace autoperfect::kernel_parser {

namespace {

// f32[?i,1024]; the sizes of dynamic dimensions come with the axes.
bool parse_buffer_type(State& state, Buffer& buffer) {
  auto& reader = state.reader;
  auto id = static_cast<BufferId>(state.kernel.buffers.size());
  auto dtype = parse_dtype(reader);
  if (!dtype || !reader.expect("[")) return false;
  buffer.type.dtype = *dtype;
  while (!reader.at("]")) {
    int dimension = buffer.type.rank();
    if (dimension > 0 && !reader.expect(",")) return false;
    std::optional<int64_t> size = 1;
    if (reader.take("?")) {
      auto axis = reader.expect(TokenKind::word, "the dynamic axis, as in ?i");
      if (!axis) return false;
      state.dynamic_dimensions.push_back({id, dimension, *axis});
    } else {
      size = parse_size(reader);
      if (!size) return false;
    }
    buffer.type.shape.push_back(*size);
    buffer.dynamic_dims.push_back(-1);
  }
  reader.next();
  return true;
}

std::optional<int64_t> parse_integer(TextReader& reader, std::string_view what) {
  auto token = reader.expect(TokenKind::number, what);
  if (!token) return std::nullopt;
  auto number = to_int64(token->text);
  if (number && *number != free_stride) return number;
  reader.report("bad-size", fmt::format("'{}' is not an integer of 63 bits", token->text), token->where);
  return std::nullopt;
}

// [1,4096], [?,1]
bool parse_strides(TextReader& reader, std::vector<int64_t>& strides) {
  if (!reader.expect("[")) return false;
  while (!reader.at("]")) {
    if (!strides.empty() && !reader.expect(",")) return false;
    auto stride = reader.take("?") ? free_stride : parse_integer(reader, "a stride, or '?'");
    if (!stride) return false;
    strides.push_back(*stride);
  }
  reader.next();
  return true;
}

bool parse_alias(State& state, Buffer& buffer) {
  auto input = state.reader.expect(TokenKind::value, "an input, as in alias=%x");
  if (!input) return false;
  auto found = state.buffers.find(input->text);
  if (found != state.buffers.end()) {
    buffer.alias = found->second;
    return true;
  }
  bool known = state.values.count(input->text) > 0;  // its own line was in error
  if (!known) {
    auto message = fmt::format("%{} is no buffer above", input->text);
    state.reader.report(
        "undefined-value", message, input->where, "an output may take the memory of an input");
  }
  return false;
}

// row, strides=[1,4096]; then offset=8 align=16 alias=%x, those that are asked for, in any order
bool parse_layout(State& state, Buffer& buffer) {
  auto& reader = state.reader;
  if (reader.take("strides")) {
    if (!reader.expect("=") || !parse_strides(reader, buffer.layout.strides)) return false;
  } else if (!reader.take("row")) {
    reader.report_unexpected("'row' or 'strides=[...]'");
    return false;
  }
  while (reader.at("offset") || reader.at("align") || reader.at("alias")) {
    auto option = reader.next();
    if (!reader.expect("=")) return false;
    if (option.text == "alias") {
      if (!parse_alias(state, buffer)) return false;
      continue;
    }
    auto number = parse_integer(reader, "a number");
    if (!number) return false;
    (option.text == "offset" ? buffer.layout.offset : buffer.layout.align) = *number;
  }
  return true;
}

std::optional<Axis> parse_axis_size(TextReader& reader) {
  auto name = reader.expect(TokenKind::word, "an axis, such as i=4096");
  if (!name || !reader.expect("=")) return std::nullopt;
  Axis axis;
  axis.name = name->text;
  axis.where = name->where;
  axis.dynamic = reader.take("?");
  // `i=?` is the canonical form, which is the same for every size.
  if (axis.dynamic && !reader.at(TokenKind::number)) return axis;
  auto size = parse_size(reader);
  if (!size) return std::nullopt;
  axis.size = *size;
  return axis;
}

}  // namespace

bool parse_buffer(State& state) {
  auto& reader = state.reader;
  Buffer buffer;
  if (reader.take("out")) {
    buffer.role = BufferRole::out;
  } else if (reader.take("temp")) {
    buffer.role = BufferRole::temp;
  } else if (!reader.take("in")) {
    reader.report_unexpected("'in', 'out', 'temp' or '}'");
    return false;
  }
  auto name = reader.expect(TokenKind::value, "a buffer, such as %x: f32[4] row");
  if (!name) return false;
  buffer.name = name->text;
  buffer.where = name->where;
  auto dynamic_before = state.dynamic_dimensions.size();
  bool good = reader.expect(":") && parse_buffer_type(state, buffer) && parse_layout(state, buffer);
  if (good && state.buffers.count(name->text)) {
    reader.report("duplicate-name", fmt::format("buffer %{} is given twice", name->text), name->where);
    good = false;
  }
  if (!good) {
    state.dynamic_dimensions.resize(dynamic_before);
    if (!state.buffers.count(name->text)) state.values.emplace(name->text, poisoned);
    return false;
  }
  state.buffers.emplace(name->text, static_cast<BufferId>(state.kernel.buffers.size()));
  state.kernel.buffers.push_back(std::move(buffer));
  return true;
}

bool parse_axes(State& state) {
  auto& reader = state.reader;
  if (!state.kernel.axes.empty() || !state.kernel.values.empty()) {
    reader.report("axes-twice", "the axes come once, before all values", reader.peek().where);
    return false;
  }
  state.axes_in_error = true;  // until the line is read
  do {
    reader.next();  // `axes` or ','
    auto name = reader.peek().text;
    auto axis = parse_axis_size(reader);
    if (!axis) return false;
    state.axes.emplace(name, static_cast<AxisId>(state.kernel.axes.size()));
    state.kernel.axes.push_back(std::move(*axis));
  } while (reader.at(","));
  state.axes_in_error = false;
  return true;
}

void resolve_dynamic_dimensions(State& state) {
  if (state.axes_in_error) return;
  for (const auto& [buffer, dimension, name] : state.dynamic_dimensions) {
    auto axis = state.axes.find(name.text);
    if (axis == state.axes.end()) {
      auto message = fmt::format("no axis is called '{}'", name.text);
      state.reader.report("unknown-axis", message, name.where, "the axes are listed at the head of the math");
      continue;
    }
    state.kernel.buffers[buffer].dynamic_dims[dimension] = axis->second;
    state.kernel.buffers[buffer].type.shape[dimension] = state.kernel.axes[axis->second].size;
  }
}

}  // namespace autoperfect::kernel_parser

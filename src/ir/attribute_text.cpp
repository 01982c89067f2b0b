#include "ir/attribute_text.h"

#include <fmt/format.h>

#include "ir/op.h"
#include "ir/shape.h"
#include "support/number.h"

namespace autoperfect {

namespace {

constexpr int format_version = 1;

bool is_integer_text(std::string_view text) {
  return text.find_first_of(".en") == std::string_view::npos;
}

// A number token, or the words inf and nan. Integers stay integers.
std::optional<std::variant<int64_t, double>> parse_any_number(TextReader& reader) {
  auto token = reader.peek();
  bool is_word = reader.at("inf") || reader.at("nan");
  if (!reader.at(TokenKind::number) && !is_word) {
    reader.report_unexpected("a number");
    return std::nullopt;
  }
  reader.next();
  if (!is_word && is_integer_text(token.text)) {
    if (token.text != "-0") {
      if (auto integer = to_int64(token.text)) return *integer;
      reader.report("bad-number", "this integer does not fit 64 bits", token.where);
      return std::nullopt;
    }
    return int64_t{0};
  }
  if (auto number = parse_number(token.text)) return *number;
  reader.report(
      "bad-number", "this number is not a double", token.where, "too large, or too small to be told from 0");
  return std::nullopt;
}

double as_double(const std::variant<int64_t, double>& number) {
  return std::visit([](auto n) { return static_cast<double>(n); }, number);
}

// [1, 2] is a list of integers; one number with a point makes it a list of doubles.
std::optional<AttributeValue> parse_list(TextReader& reader) {
  std::vector<std::variant<int64_t, double>> numbers;
  bool floating = false;
  if (!reader.expect("[")) return std::nullopt;
  while (!reader.at("]")) {
    if (!numbers.empty() && !reader.expect(",")) return std::nullopt;
    auto number = parse_any_number(reader);
    if (!number) return std::nullopt;
    floating |= std::holds_alternative<double>(*number);
    numbers.push_back(*number);
  }
  reader.next();
  if (floating) {
    std::vector<double> list;
    for (const auto& number : numbers)
      list.push_back(as_double(number));
    return list;
  }
  std::vector<int64_t> list;
  for (const auto& number : numbers)
    list.push_back(std::get<int64_t>(number));
  return list;
}

template <class T>
void append_list(std::string& out, const std::vector<T>& list) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    append(out, AttributeValue(list[i]));
  }
  out += ']';
}

}  // namespace

std::optional<Dtype> parse_dtype(TextReader& reader) {
  auto token = reader.peek();
  if (!reader.at(TokenKind::word)) {
    reader.report_unexpected("a dtype");
    return std::nullopt;
  }
  reader.next();
  if (auto dtype = parse_dtype(token.text)) return dtype;
  reader.report(
      "unknown-dtype",
      fmt::format("no dtype is called '{}'", token.text),
      token.where,
      "dtypes are bool u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64 c64");
  return std::nullopt;
}

std::optional<TensorType> parse_type(TextReader& reader) {
  auto where = reader.peek().where;
  auto dtype = parse_dtype(reader);
  if (!dtype || !reader.expect("[")) return std::nullopt;
  TensorType type{*dtype, {}};
  while (!reader.at("]")) {
    if (!type.shape.empty() && !reader.expect(",")) return std::nullopt;
    auto token = reader.expect(TokenKind::number, "a size");
    if (!token) return std::nullopt;
    auto size = to_int64(token->text);
    if (!size || *size < 0) {
      reader.report("bad-size", fmt::format("'{}' is not a size", token->text), token->where);
      return std::nullopt;
    }
    type.shape.push_back(*size);
    if (type.shape.size() > max_rank) break;
  }
  if (!checked_elements(type.shape)) {
    reader.report("shape-too-large", "this shape is too large", where, "at most 32 axes, and 2^57 elements");
    return std::nullopt;
  }
  reader.next();
  return type;
}

std::optional<AttributeValue> parse_attribute_value(TextReader& reader) {
  auto token = reader.peek();
  switch (token.kind) {
    case TokenKind::string: {
      reader.next();
      if (auto text = unquote(token.text)) return AttributeValue(std::move(*text));
      reader.report(
          "bad-string",
          "this string has an unknown escape",
          token.where,
          "known: \\\" \\\\ \\n \\t \\r \\xHH");
      return std::nullopt;
    }
    case TokenKind::punctuation:
      return parse_list(reader);
    case TokenKind::word:
      if (reader.take("true")) return AttributeValue(true);
      if (reader.take("false")) return AttributeValue(false);
      if (reader.at("inf") || reader.at("nan")) break;
      if (auto dtype = parse_dtype(reader)) return AttributeValue(*dtype);
      return std::nullopt;
    default:
      break;
  }
  auto number = parse_any_number(reader);
  if (!number) return std::nullopt;
  return std::visit([](auto n) { return AttributeValue(n); }, *number);
}

bool parse_attributes(TextReader& reader, Attributes& attributes) {
  while (reader.at(TokenKind::word)) {
    auto name = reader.next();
    if (!reader.expect("=")) return false;
    auto value = parse_attribute_value(reader);
    if (!value) return false;
    if (attributes.has(std::string(name.text))) {
      reader.report(
          "duplicate-attribute", fmt::format("attribute '{}' is given twice", name.text), name.where);
      return false;
    }
    attributes.set(std::string(name.text), std::move(*value));
  }
  return true;
}

std::optional<double> parse_double(TextReader& reader) {
  if (reader.peek().text == "-0") {  // an integer elsewhere, but a double keeps its sign
    reader.next();
    return -0.0;
  }
  auto number = parse_any_number(reader);
  if (!number) return std::nullopt;
  return as_double(*number);
}

void append(std::string& out, const AttributeValue& value) {
  std::visit(
      [&out](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          out += v ? "true" : "false";
        } else if constexpr (std::is_same_v<T, int64_t>) {
          out += std::to_string(v);
        } else if constexpr (std::is_same_v<T, double>) {
          out += format_number(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out += quote(v);
        } else if constexpr (std::is_same_v<T, Dtype>) {
          out += name(v);
        } else {
          append_list(out, v);
        }
      },
      value);
}

void append_attributes(std::string& out, const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    out += ' ';
    out += name;
    out += '=';
    append(out, value);
  }
}

bool parse_header(TextReader& reader, std::string_view what) {
  reader.skip_blank_lines();
  auto where = reader.peek().where;
  auto wanted = fmt::format("autoperfect.{} {}", what, format_version);
  auto hint = fmt::format("the first line is '{}'", wanted);
  if (!reader.take("autoperfect") || !reader.take(".") || !reader.take(what)) {
    reader.report("bad-header", fmt::format("this is no {} text", what), where, hint);
    return false;
  }
  auto version = reader.peek();
  if (!reader.at(TokenKind::number) || version.text != std::to_string(format_version)) {
    reader.report(
        "unknown-version",
        fmt::format("this version of the {} text is not known", what),
        version.where,
        hint);
    return false;
  }
  reader.next();
  return reader.expect_end_of_line();
}

}  // namespace autoperfect

#include "ir/text_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/characters.h"

namespace autoperfect {

namespace {

constexpr size_t most_errors = 1000;  // of one text; nobody reads more

bool is_punctuation(char c) {
  return std::string_view("()[]{},:=+-*?.").find(c) != std::string_view::npos;
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::end_of_text:
      return "the end of the text";
    case TokenKind::end_of_line:
      return "the end of the line";
    case TokenKind::value:
      return fmt::format("'%{}'", token.text);
    case TokenKind::symbol:
      return fmt::format("'@{}'", token.text);
    case TokenKind::string:
      return "a string";
    case TokenKind::bad:
      return token.text.substr(0, 1) == "\"" ? "a string without an end" : fmt::format("'{}'", token.text);
    default:
      return fmt::format("'{}'", token.text.substr(0, 40));
  }
}

}  // namespace

TextReader::TextReader(const std::string& text, std::string stage) : text_(text), stage_(std::move(stage)) {
  advance();
}

Token TextReader::next() {
  auto token = token_;
  advance();
  return token;
}

bool TextReader::at(std::string_view text) const {
  return (token_.kind == TokenKind::word || token_.kind == TokenKind::punctuation) && token_.text == text;
}

bool TextReader::take(std::string_view text) {
  if (!at(text)) return false;
  advance();
  return true;
}

bool TextReader::expect(std::string_view text) {
  if (take(text)) return true;
  report_unexpected(fmt::format("'{}'", text));
  return false;
}

std::optional<Token> TextReader::expect(TokenKind kind, std::string_view what) {
  if (at(kind)) return next();
  report_unexpected(what);
  return std::nullopt;
}

bool TextReader::expect_end_of_line() {
  if (at(TokenKind::end_of_text)) return true;
  return expect(TokenKind::end_of_line, "the end of the line").has_value();
}

void TextReader::skip_blank_lines() {
  while (at(TokenKind::end_of_line))
    advance();
}

void TextReader::skip_line() {
  while (!at(TokenKind::end_of_line) && !at(TokenKind::end_of_text))
    advance();
  if (at(TokenKind::end_of_line)) advance();
}

void TextReader::report(std::string code, std::string message, const Where& where, std::string hint) {
  if (errors_.size() >= most_errors) return;
  errors_.push_back({stage_, std::move(code), std::move(message), where, std::move(hint)});
}

void TextReader::report_unexpected(std::string_view wanted) {
  report("unexpected-token", fmt::format("expected {}, found {}", wanted, describe(token_)), token_.where);
}

std::vector<Diagnostic> TextReader::take_errors(std::vector<Diagnostic> more) {
  auto all = std::move(errors_);
  errors_.clear();
  std::move(more.begin(), more.end(), std::back_inserter(all));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
  if (all.size() > most_errors) all.resize(most_errors);
  return all;
}

void TextReader::lex(TokenKind kind, size_t begin, size_t end, size_t text_begin, size_t text_end) {
  token_.kind = kind;
  token_.text = text_.substr(text_begin, text_end - text_begin);
  token_.where.line = line_;
  token_.where.column = static_cast<int>(begin - line_begin_) + 1;
  token_.where.length = static_cast<int>(end - begin);
  position_ = end;
}

// -?digits[.digits][e[+-]digits] or -inf. What parse_number refuses is reported by whoever wants the number.
size_t TextReader::end_of_number(size_t begin) const {
  size_t p = begin;
  if (text_[p] == '-') ++p;
  if (text_.substr(p, 3) == "inf") {
    bool ends = p + 3 == text_.size() || !is_word(text_[p + 3]);
    return ends && p > begin ? p + 3 : begin;
  }
  if (p == text_.size() || !is_digit(text_[p])) return begin;
  auto skip_digits = [&] {
    while (p < text_.size() && is_digit(text_[p]))
      ++p;
  };
  skip_digits();
  if (p + 1 < text_.size() && text_[p] == '.' && is_digit(text_[p + 1])) {
    ++p;
    skip_digits();
  }
  if (p < text_.size() && (text_[p] == 'e' || text_[p] == 'E')) {
    size_t exponent = p + 1;
    if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
    if (exponent < text_.size() && is_digit(text_[exponent])) {
      p = exponent;
      skip_digits();
    }
  }
  return p;
}

void TextReader::lex_string(size_t begin) {
  size_t p = begin + 1;
  while (p < text_.size() && text_[p] != '"' && text_[p] != '\n') {
    bool escapes = text_[p] == '\\' && p + 1 < text_.size() && text_[p + 1] != '\n';
    p += escapes ? 2 : 1;
  }
  if (p < text_.size() && text_[p] == '"') return lex(TokenKind::string, begin, p + 1, begin + 1, p);
  p = std::min(text_.find('\n', begin), text_.size());
  lex(TokenKind::bad, begin, p, begin, p);
}

void TextReader::skip_space_and_comment() {
  auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (position_ < text_.size() && is_space(text_[position_]))
    ++position_;
  bool comment = position_ < text_.size() && text_[position_] == ';';
  if (comment) position_ = std::min(text_.find('\n', position_), text_.size());
}

void TextReader::advance() {
  skip_space_and_comment();
  size_t begin = position_;
  if (begin >= text_.size()) return lex(TokenKind::end_of_text, begin, begin, begin, begin);
  char c = text_[begin];
  if (c == '\n') {
    lex(TokenKind::end_of_line, begin, begin + 1, begin, begin);
    ++line_;
    line_begin_ = begin + 1;
    return;
  }
  if (c == '"') return lex_string(begin);
  size_t end = begin + 1;
  if (is_letter(c) || c == '%' || c == '@') {
    while (end < text_.size() && is_word(text_[end]))
      ++end;
    if (is_letter(c)) return lex(TokenKind::word, begin, end, begin, end);
    if (end == begin + 1) return lex(TokenKind::bad, begin, end, begin, end);
    return lex(c == '%' ? TokenKind::value : TokenKind::symbol, begin, end, begin + 1, end);
  }
  size_t number_end = is_digit(c) || c == '-' ? end_of_number(begin) : begin;
  if (number_end > begin) return lex(TokenKind::number, begin, number_end, begin, number_end);
  lex(is_punctuation(c) ? TokenKind::punctuation : TokenKind::bad, begin, end, begin, end);
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::optional<std::string> unquote(std::string_view escaped) {
  std::string out;
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '\\') {
      out += escaped[i];
      continue;
    }
    if (++i == escaped.size()) return std::nullopt;
    switch (escaped[i]) {
      case '"':
        out += '"';
        break;
      case '\\':
        out += '\\';
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'x': {
        auto digits = escaped.substr(i + 1, 2);
        unsigned byte = 0;
        auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
        if (digits.size() != 2 || read.ptr != digits.data() + 2) return std::nullopt;
        out += static_cast<char>(byte);
        i += 2;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return out;
}

std::optional<int64_t> to_int64(std::string_view digits) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace autoperfect

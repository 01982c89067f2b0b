#include "support/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace autoperfect {

namespace {

constexpr int window_columns = 160;  // of a long source line, around the caret

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Texts come from anywhere: a terminal must not obey what stands in them.
std::string printable(std::string_view text) {
  std::string out;
  for (char c : text)
    out += (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) ? ' ' : c;
  return out;
}

bool continues_utf8(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !continues_utf8(c); });
}

std::string excerpt(const Where& where, std::string_view line) {
  size_t column = std::min<size_t>(std::max(where.column, 1) - 1, line.size());
  size_t begin = column > window_columns / 2 ? column - window_columns / 2 : 0;
  while (begin < line.size() && continues_utf8(line[begin]))
    ++begin;
  column = std::max(column, begin);
  auto shown = line.substr(begin, window_columns);
  int64_t before = count_characters(line.substr(begin, column - begin));
  size_t room = begin + shown.size() > column ? begin + shown.size() - column : 0;
  size_t marked = std::clamp<size_t>(where.length, 1, std::max<size_t>(room, 1));
  auto number = std::to_string(where.line);
  return fmt::format(
      "{} | {}\n{} | {}^{}\n",
      number,
      printable(shown),
      std::string(number.size(), ' '),
      std::string(before, ' '),
      std::string(marked - 1, '~'));
}

std::string format_one(const Diagnostic& diagnostic, const std::vector<std::string_view>& lines) {
  auto text =
      fmt::format("{}: error[{}]: {}", diagnostic.stage, diagnostic.code, printable(diagnostic.message));
  const auto& where = diagnostic.where;
  bool has_line = where.line >= 1 && where.line <= static_cast<int>(lines.size());
  if (where.line >= 1 && !has_line) text += fmt::format(" (line {}, column {})", where.line, where.column);
  text += '\n';
  if (has_line) text += excerpt(where, lines[where.line - 1]);
  if (!diagnostic.hint.empty()) text += fmt::format("  hint: {}\n", printable(diagnostic.hint));
  return text;
}

}  // namespace

std::string format(const Diagnostic& diagnostic, const std::string& source) {
  return format_one(diagnostic, split_lines(source));
}

std::string format(const std::vector<Diagnostic>& diagnostics, const std::string& source) {
  auto lines = split_lines(source);
  std::string text;
  for (const auto& diagnostic : diagnostics)
    text += format_one(diagnostic, lines);
  return text;
}

}  // namespace autoperfect

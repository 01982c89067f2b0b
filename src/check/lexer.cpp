#include "check/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/characters.h"

namespace autoperfect::code {

namespace {

constexpr size_t most_bytes = 64 << 10;
constexpr size_t most_line = 2000;

// Longest first. Those with a reason are not C++ a draft may be written in.
struct Punctuation {
  std::string_view text;
  const char* reason = nullptr;
};
constexpr const char* digraph = "digraphs are not allowed";
constexpr const char* joined = "the preprocessor is not allowed";
constexpr Punctuation punctuations[] = {
    {"%:%:", digraph},
    {"<<="},
    {">>="},
    {"...", "packs are not allowed"},
    {"->*", "pointers to members are not allowed"},
    {".*", "pointers to members are not allowed"},
    {"<=>", "three-way comparison is not allowed"},
    {"<:", digraph},
    {":>", digraph},
    {"<%", digraph},
    {"%>", digraph},
    {"%:", digraph},
    {"##", joined},
    {"::"},
    {"->"},
    {"++"},
    {"--"},
    {"<<"},
    {">>"},
    {"<="},
    {">="},
    {"=="},
    {"!="},
    {"&&"},
    {"||"},
    {"+="},
    {"-="},
    {"*="},
    {"/="},
    {"%="},
    {"&="},
    {"|="},
    {"^="},
    {"{"},
    {"}"},
    {"["},
    {"]"},
    {"("},
    {")"},
    {";"},
    {":"},
    {"?"},
    {","},
    {"."},
    {"+"},
    {"-"},
    {"*"},
    {"/"},
    {"%"},
    {"&"},
    {"|"},
    {"^"},
    {"~"},
    {"!"},
    {"="},
    {"<"},
    {">"}};

class Lexer {
 public:
  Lexer(std::string_view source, Errors& errors) : source_(source), errors_(errors) {}

  Lexed run() {
    while (at_ < source_.size())
      step();
    lexed_.tokens.push_back({TokenKind::end, source_.substr(source_.size()), here(0)});
    return std::move(lexed_);
  }

 private:
  Where here(size_t length) const {
    return {line_, static_cast<int>(at_ - line_begin_) + 1, static_cast<int>(std::max<size_t>(length, 1))};
  }
  std::string_view rest() const { return source_.substr(at_); }
  void report(const char* code, std::string message, size_t length, std::string hint = "") {
    errors_.add(code, std::move(message), here(length), std::move(hint));
  }
  void take(TokenKind kind, size_t length) {
    lexed_.tokens.push_back({kind, source_.substr(at_, length), here(length)});
    at_ += length;
  }
  void begin_line() {
    ++line_;
    line_begin_ = at_;
  }

  void step() {
    const char c = source_[at_];
    if (c == '\n') {
      ++at_;
      return begin_line();
    }
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (rest().starts_with("//")) {
      line_comment();
    } else if (rest().starts_with("/*")) {
      block_comment();
    } else if (is_letter(c)) {
      word();
    } else if (is_digit(c) || (c == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]))) {
      number();
    } else if (c == '#') {
      directive_of_preprocessor();
    } else {
      punctuation();
    }
  }

  // A joined line would make the next one part of the comment, but only for the compiler.
  void check_comment(std::string_view text) {
    for (std::string_view bad : {"\\", "\?\?/"}) {
      if (text.find(bad) != std::string_view::npos)
        report("joined-lines", "a backslash is not allowed, not even in a comment", text.size());
    }
  }

  void line_comment() {
    auto text = rest().substr(0, rest().find('\n'));
    check_comment(text);
    auto before = source_.substr(line_begin_, at_ - line_begin_);
    if (before.find_first_not_of(" \t") == std::string_view::npos) directive(text);
    at_ += text.size();
  }

  void directive(std::string_view comment) {
    auto begin = comment.find_first_not_of(" \t", 2);
    auto colon = comment.find(':');
    if (begin == std::string_view::npos || colon == std::string_view::npos || colon < begin) return;
    auto name = comment.substr(begin, colon - begin);
    if (name != "launch" && name != "guard" && name != "finish") return;
    auto text = comment.substr(colon + 1);
    Where where = here(text.size());
    where.column += static_cast<int>(colon) + 1;
    lexed_.directives.push_back({name, text, where, comment});
  }

  void block_comment() {
    auto length = rest().find("*/", 2);
    if (length == std::string_view::npos) {
      report("open-comment", "this comment does not end", 2);
      at_ = source_.size();
      return;
    }
    check_comment(rest().substr(0, length));
    for (size_t end = at_ + length + 2; at_ < end;) {
      if (source_[at_++] == '\n') begin_line();
    }
  }

  void word() {
    size_t length = 1;
    while (at_ + length < source_.size() && is_word(source_[at_ + length]))
      ++length;
    take(TokenKind::word, length);
  }

  // As the preprocessor takes numbers: digits, letters, dots, signs after an exponent.
  void number() {
    size_t end = at_ + 1;
    while (end < source_.size()) {
      const char c = source_[end], before = source_[end - 1];
      const bool is_hex = rest().starts_with("0x") || rest().starts_with("0X");
      const bool in_exponent =
          before == 'p' || before == 'P' || (!is_hex && (before == 'e' || before == 'E'));
      if (!is_word(c) && c != '.' && !((c == '+' || c == '-') && in_exponent)) break;
      ++end;
    }
    take(TokenKind::number, end - at_);
  }

  void directive_of_preprocessor() {
    auto line = rest().substr(0, rest().find('\n'));
    auto before = source_.substr(line_begin_, at_ - line_begin_);
    const bool alone = before.find_first_not_of(" \t") == std::string_view::npos;
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
      line.remove_suffix(1);
    if (alone && is_unroll(line)) return take(TokenKind::pragma, line.size());
    report(
        "preprocessor",
        "the preprocessor is not allowed",
        line.size(),
        "only `#pragma unroll` has a line of its own; write constants with constexpr");
    at_ += line.size();
  }

  // "#pragma unroll", "#pragma unroll 4", "#pragma GCC unroll 4"
  static bool is_unroll(std::string_view line) {
    auto skip = [&](std::string_view text) {
      if (!line.starts_with(text)) return false;
      line.remove_prefix(text.size());
      return true;
    };
    auto skip_blanks = [&] {
      bool any = false;
      while (skip(" "))
        any = true;
      return any;
    };
    if (!skip("#")) return false;
    skip_blanks();
    if (!skip("pragma") || !skip_blanks()) return false;
    if (skip("GCC") && !skip_blanks()) return false;
    if (!skip("unroll")) return false;
    if (line.empty()) return true;
    return skip_blanks() && line.size() <= 3 && std::all_of(line.begin(), line.end(), is_digit);
  }

  void punctuation() {
    for (const auto& known : punctuations) {
      if (!rest().starts_with(known.text)) continue;
      if (known.reason) report("bad-token", known.reason, known.text.size());
      return take(TokenKind::punctuation, known.text.size());
    }
    const char c = source_[at_];
    if (c == '"' || c == '\'') {
      auto line = rest().substr(0, rest().find('\n'));
      auto length = std::min(line.find(c, 1), line.size() - 1) + 1;
      report("text-literal", "literals of text and of characters are not allowed", length);
      at_ += length;
      return;
    }
    if (c == '\\') {
      report("joined-lines", "a backslash is not allowed", 1);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      size_t length = 1;
      while (at_ + length < source_.size() && static_cast<unsigned char>(source_[at_ + length]) >= 0x80)
        ++length;
      report("not-ascii", "outside of comments only ASCII is allowed", length);
      at_ += length;
      return;
    } else {
      report("bad-token", fmt::format("'{}' begins no token", c), 1);
    }
    ++at_;
  }

  std::string_view source_;
  Errors& errors_;
  Lexed lexed_;
  size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
};

// Bytes of the character at the start of `text`; 0 when it is not UTF-8 (overlong forms and surrogates are
// not).
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) >= 0xa0) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) >= 0x90) return 0;
  return length;
}

// Marks that make a reader see another order than the compiler, or nothing at all.
bool is_hidden(std::string_view character) {
  constexpr std::string_view marks[] = {
      "\xe2\x80\xaa",
      "\xe2\x80\xab",
      "\xe2\x80\xac",
      "\xe2\x80\xad",
      "\xe2\x80\xae",
      "\xe2\x81\xa6",
      "\xe2\x81\xa7",
      "\xe2\x81\xa8",
      "\xe2\x81\xa9",
      "\xe2\x80\x8b",
      "\xe2\x80\x8e",
      "\xe2\x80\x8f",
      "\xe2\x80\xa8",
      "\xe2\x80\xa9",
      "\xef\xbb\xbf"};
  return std::find(std::begin(marks), std::end(marks), character) != std::end(marks);
}

}  // namespace

bool is_text(std::string_view source, Errors& errors) {
  if (source.size() > most_bytes) {
    errors.add(
        "too-large", fmt::format("the draft has {} bytes; {} are allowed", source.size(), most_bytes), {});
    return false;
  }
  bool good = true;
  Where where{1, 1, 1};
  for (size_t at = 0; at < source.size();) {
    const size_t length = utf8_length(source.substr(at));
    const unsigned char c = static_cast<unsigned char>(source[at]);
    const char* problem = nullptr;
    if (length == 0) {
      problem = "this is not UTF-8";
    } else if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f) {
      problem = "control characters are not allowed";
    } else if (is_hidden(source.substr(at, length))) {
      problem = "marks that hide or reorder text are not allowed";
    } else if (where.column > static_cast<int>(most_line)) {
      problem = "this line is too long";
    }
    if (problem) {
      errors.add("bad-text", problem, where);
      return false;
    }
    at += length;
    where.column += static_cast<int>(length);
    if (c == '\n') where = {where.line + 1, 1, 1};
  }
  return good;
}

Lexed lex(std::string_view source, Errors& errors) {
  return Lexer(source, errors).run();
}

}  // namespace autoperfect::code

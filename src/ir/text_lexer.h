// The lexer under all texts of ours (graph, kernel, plan): linear, no recursion, one token of look-ahead.
// Texts may come from anyone, so nothing here trusts them. The reader collects errors; a parser that reports
// one calls skip_line() and goes on, so that all errors of a text are found at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace autoperfect {

enum class TokenKind : uint8_t {
  end_of_text,
  end_of_line,
  word,         // relu, inf, f32
  value,        // %name; text without the %
  symbol,       // @name; text without the @
  number,       // 3, -0.5, 1e-06, -inf (inf and nan alone are words)
  string,       // "..."; text without the quotes, still escaped
  punctuation,  // one character
  bad,          // a character that begins no token, or a string that does not end
};

struct Token {
  TokenKind kind = TokenKind::end_of_text;
  std::string_view text;  // of the source, which outlives the reader
  Where where;
};

class TextReader {
 public:
  TextReader(const std::string& text, std::string stage);

  const Token& peek() const { return token_; }
  Token next();
  bool at(TokenKind kind) const { return token_.kind == kind; }
  bool at(std::string_view text) const;  // a word or punctuation of this text
  bool take(std::string_view text);      // consumes it when it is next
  bool expect(std::string_view text);    // reports when it is not next
  std::optional<Token> expect(TokenKind kind, std::string_view what);

  bool expect_end_of_line();  // consumes it; a comment may come before it
  void skip_blank_lines();
  void skip_line();  // to the start of the next line

  void report(std::string code, std::string message, const Where& where, std::string hint = "");
  void report_unexpected(std::string_view wanted);  // at the next token
  bool has_errors() const { return !errors_.empty(); }
  size_t error_count() const { return errors_.size(); }
  // All errors so far and `more`, in the order of the text.
  std::vector<Diagnostic> take_errors(std::vector<Diagnostic> more = {});

 private:
  void advance();
  void skip_space_and_comment();
  void lex(TokenKind kind, size_t begin, size_t end, size_t text_begin, size_t text_end);
  size_t end_of_number(size_t begin) const;
  void lex_string(size_t begin);

  std::string_view text_;
  std::string stage_;
  size_t position_ = 0;
  size_t line_begin_ = 0;
  int line_ = 1;
  Token token_;
  std::vector<Diagnostic> errors_;
};

// \" \\ \n \t \r \xHH both ways; printable characters and UTF-8 stand for themselves.
std::string quote(std::string_view text);
std::optional<std::string> unquote(std::string_view escaped);

std::optional<int64_t> to_int64(std::string_view digits);

}  // namespace autoperfect

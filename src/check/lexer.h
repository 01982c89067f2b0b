// The tokens of a draft in C++, CUDA or Metal. Whatever makes two readers of one text disagree is an error
// here: preprocessor, literals of text, digraphs, trigraphs, joined lines, characters outside ASCII but in
// comments.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "check/errors.h"

namespace autoperfect::code {

enum class TokenKind : uint8_t {
  end,
  word,
  number,
  punctuation,  // the longest one: `<<=`
  pragma        // `#pragma ... unroll ...`, the whole line
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // of the source, which outlives it
  Where where;
  bool is(std::string_view wanted) const { return text == wanted && kind != TokenKind::end; }
};

// A comment of its own line that says how to run the code: `// launch: grid=n_i`.
struct Directive {
  std::string_view name, text;
  Where where;  // of the text
  std::string_view line;
};

struct Lexed {
  std::vector<Token> tokens;  // the last one is `end`
  std::vector<Directive> directives;
};

Lexed lex(std::string_view source, Errors& errors);

// Whether it is UTF-8 without control characters but tabs and ends of line, and not too long. Reports.
bool is_text(std::string_view source, Errors& errors);

}  // namespace autoperfect::code

// The statements of a draft: enough of C++ to know each name that is declared and each place where the code
// goes one way or another. Expressions stay ranges of tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "check/lexer.h"
#include "generate/language/vocabulary.h"

namespace autoperfect::code {

struct Range {  // of tokens
  size_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
};

struct Declared {
  size_t name = 0;  // token
  Range bounds;     // of an array, with the brackets
  Range value;      // what it is initialized with; empty: nothing, or a parameter
  bool is_array = false, is_pointer = false, is_reference = false;
  bool is_const = false;     // the value, or what a pointer or reference leads to
  bool is_constant = false;  // constexpr
  bool is_parameter = false;
  bool is_shared = false;  // __shared__, threadgroup
};

enum class StatementKind : uint8_t {
  block,
  branch,  // if
  loop,    // for, while
  repeat,  // do
  choice,  // switch
  label,   // case, default
  jump,    // break, continue, return
  declaration,
  expression,
  lambda,  // auto name = [&](...) {...};
};

struct Statement {
  StatementKind kind = StatementKind::expression;
  Range range;               // all of it, the pragma before a loop included
  Range condition;           // branch, loop, repeat, choice, label; what a jump returns; an expression itself
  Range step;                // loop: for
  bool is_constant = false;  // if constexpr
  std::vector<Declared>
      declared;               // declaration; for and if: before the condition; lambda: itself and parameters
  std::vector<Range> before;  // for: an expression before the condition
  std::vector<Statement> children;  // block: all; branch: then, else; others: the body
};

struct Program {
  std::vector<Token> tokens;
  std::vector<size_t> match;  // of a bracket: the other one
  Statement body;             // a block without braces
};

// Reports what it cannot read; the program is then not to be used.
Program parse(std::vector<Token> tokens, const Vocabulary& vocabulary, Errors& errors);

// The end of the template arguments that begin at `<` after token `at`, or at + 1 when there are none.
size_t end_of_template(const Program& program, size_t at, size_t end, const Vocabulary& vocabulary);

}  // namespace autoperfect::code

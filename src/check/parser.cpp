#include "check/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace autoperfect::code {

namespace {

constexpr int deepest = 40;  // statements within statements, and brackets within brackets

// Specifiers that check_names() reports; what they are written before is a declaration all the same.
constexpr std::string_view refused[] = {
    "static",
    "extern",
    "thread_local",
    "register",
    "volatile",
    "mutable",
    "inline",
    "__device__",
    "__constant__",
};

struct Specifiers {
  size_t end = 0;
  bool has_type = false, is_const = false, is_constant = false, is_shared = false, is_auto = false;
};

class Parser {
 public:
  Parser(Program& program, const Vocabulary& vocabulary, Errors& errors)
      : program_(program), tokens_(program.tokens), vocabulary_(vocabulary), errors_(errors) {}

  void run() {
    if (!match_brackets()) return;
    program_.body.kind = StatementKind::block;
    program_.body.range = {0, tokens_.size() - 1};
    parse_list(program_.body.range, program_.body.children, false);
  }

 private:
  const Token& token(size_t at) const { return tokens_[std::min(at, tokens_.size() - 1)]; }
  bool is(size_t at, std::string_view text) const { return token(at).is(text); }
  bool is_word(size_t at) const { return token(at).kind == TokenKind::word; }
  size_t after_bracket(size_t at) const { return program_.match[at] + 1; }
  bool is_open(size_t at) const { return is(at, "(") || is(at, "[") || is(at, "{"); }

  std::nullopt_t report(size_t at, const char* code, std::string message, std::string hint = "") {
    errors_.add(code, std::move(message), token(at).where, std::move(hint));
    return std::nullopt;
  }

  bool match_brackets() {
    program_.match.assign(tokens_.size(), 0);
    std::vector<size_t> open;
    for (size_t at = 0; at + 1 < tokens_.size(); ++at) {
      if (is_open(at)) {
        open.push_back(at);
        if (open.size() > deepest) return report(at, "too-deep", "brackets are nested too deep"), false;
        continue;
      }
      if (!is(at, ")") && !is(at, "]") && !is(at, "}")) continue;
      const char opening = is(at, ")") ? '(' : is(at, "]") ? '[' : '{';
      if (open.empty() || tokens_[open.back()].text[0] != opening)
        return report(at, "unbalanced", fmt::format("'{}' closes nothing", token(at).text)), false;
      program_.match[at] = open.back();
      program_.match[open.back()] = at;
      open.pop_back();
    }
    if (open.empty()) return true;
    report(open.back(), "unbalanced", fmt::format("'{}' is not closed", token(open.back()).text));
    return false;
  }

  // The next of two texts outside of brackets and template arguments, or `end`.
  size_t find(size_t at, size_t end, std::string_view text, std::string_view other) const {
    while (at < end && !is(at, text) && !is(at, other)) {
      if (is_open(at)) {
        at = after_bracket(at);
      } else {
        at = std::min(end, end_of_template(program_, at, end, vocabulary_));
      }
    }
    return at;
  }

  void parse_list(Range range, std::vector<Statement>& statements, bool in_choice) {
    for (size_t at = range.begin; at < range.end;) {
      if (is(at, ";")) {
        ++at;
        continue;
      }
      auto statement = parse_statement(at, range.end, in_choice);
      if (statement) {
        at = statement->range.end;
        statements.push_back(std::move(*statement));
      } else {
        at = recover(at, range.end);
      }
    }
  }

  size_t recover(size_t at, size_t end) const {
    while (at < end && !is(at, ";")) {
      if (is(at, "{")) return std::min(end, after_bracket(at));
      at = is_open(at) ? after_bracket(at) : at + 1;
    }
    return std::min(at + 1, end);
  }

  std::optional<Statement> parse_statement(size_t at, size_t end, bool in_choice = false) {
    if (++depth_ > deepest) {
      --depth_;
      return report(at, "too-deep", "statements are nested too deep");
    }
    auto statement = parse_any(at, end, in_choice);
    --depth_;
    return statement;
  }

  std::optional<Statement> parse_any(size_t at, size_t end, bool in_choice) {
    const size_t begin = at;
    while (is(at, "[") && is(at + 1, "[") && starts_statement_attribute(at))
      at = after_bracket(at);
    std::optional<Statement> found;
    const bool has_pragma = token(at).kind == TokenKind::pragma;
    if (has_pragma) ++at;
    if (has_pragma && !is(at, "for") && !is(at, "while") && !is(at, "do"))
      return report(begin, "bad-pragma", "`#pragma unroll` stands before a loop only");
    if (at >= end) return report(at, "bad-statement", "a statement is missing here");
    if (is(at, "{")) {
      found = parse_block(at);
    } else if (is(at, "if")) {
      found = parse_branch(at, end);
    } else if (is(at, "for")) {
      found = parse_for(at, end);
    } else if (is(at, "while")) {
      found = parse_while(at, end);
    } else if (is(at, "do")) {
      found = parse_repeat(at, end);
    } else if (is(at, "switch")) {
      found = parse_choice(at, end);
    } else if (is(at, "case") || is(at, "default")) {
      found = parse_label(at, end, in_choice);
    } else if (is(at, "else")) {
      return report(at, "bad-statement", "this `else` has no `if`");
    } else {
      found = parse_simple(at, end);
    }
    if (found) found->range.begin = begin;
    return found;
  }

  bool starts_statement_attribute(size_t at) const {
    return is(at + 2, "likely") || is(at + 2, "unlikely") || is(at + 2, "maybe_unused");
  }

  std::optional<Statement> parse_block(size_t at, bool in_choice = false) {
    Statement block;
    block.kind = StatementKind::block;
    block.range = {at, after_bracket(at)};
    parse_list({at + 1, program_.match[at]}, block.children, in_choice);
    return block;
  }

  bool add_child(Statement& statement, size_t at, size_t end) {
    auto child = parse_statement(at, end);
    if (!child) return false;
    statement.range.end = child->range.end;
    statement.children.push_back(std::move(*child));
    return true;
  }

  bool expect_bracket(size_t at, std::string_view after) {
    if (is(at, "(")) return true;
    report(at, "bad-statement", fmt::format("'(' is missing after `{}`", after));
    return false;
  }

  // One statement of its own, or nothing: `;`.
  bool add_body(Statement& statement, size_t at, size_t end) {
    if (!is(at, ";")) return add_child(statement, at, end);
    Statement nothing;
    nothing.range = {at, at + 1};
    statement.range.end = at + 1;
    statement.children.push_back(nothing);
    return true;
  }

  std::optional<Statement> parse_branch(size_t at, size_t end) {
    Statement branch;
    branch.kind = StatementKind::branch;
    if (is(at + 1, "constexpr")) {
      branch.is_constant = true;
      ++at;
    }
    if (!expect_bracket(at + 1, "if")) return std::nullopt;
    const Range inside{at + 2, program_.match[at + 1]};
    size_t middle = find(inside.begin, inside.end, ";", ";");
    Range condition = inside;
    if (middle < inside.end) {
      parse_before(branch, {inside.begin, middle});
      condition = {middle + 1, inside.end};
    }
    branch.condition = condition;
    if (is_declaration(condition)) parse_declarators(condition, branch.declared);
    if (!add_body(branch, inside.end + 1, end)) return std::nullopt;
    if (is(branch.range.end, "else") && branch.range.end < end) {
      if (!add_body(branch, branch.range.end + 1, end)) return std::nullopt;
    }
    return branch;
  }

  void parse_before(Statement& statement, Range range) {
    if (range.empty()) return;
    if (is_declaration(range)) {
      parse_declarators(range, statement.declared);
    } else {
      statement.before.push_back(range);
    }
  }

  std::optional<Statement> parse_for(size_t at, size_t end) {
    Statement loop;
    loop.kind = StatementKind::loop;
    if (!expect_bracket(at + 1, "for")) return std::nullopt;
    const Range inside{at + 2, program_.match[at + 1]};
    const size_t first = find(inside.begin, inside.end, ";", ";");
    const size_t second = first < inside.end ? find(first + 1, inside.end, ";", ";") : inside.end;
    if (second >= inside.end)
      return report(at, "bad-statement", "only `for (...; ...; ...)` is allowed", "loop over an index");
    parse_before(loop, {inside.begin, first});
    loop.condition = {first + 1, second};
    loop.step = {second + 1, inside.end};
    if (!add_body(loop, inside.end + 1, end)) return std::nullopt;
    return loop;
  }

  std::optional<Statement> parse_while(size_t at, size_t end) {
    Statement loop;
    loop.kind = StatementKind::loop;
    if (!expect_bracket(at + 1, "while")) return std::nullopt;
    loop.condition = {at + 2, program_.match[at + 1]};
    if (!add_body(loop, loop.condition.end + 1, end)) return std::nullopt;
    return loop;
  }

  std::optional<Statement> parse_repeat(size_t at, size_t end) {
    Statement loop;
    loop.kind = StatementKind::repeat;
    if (!add_body(loop, at + 1, end)) return std::nullopt;
    at = loop.range.end;
    if (!is(at, "while") || !expect_bracket(at + 1, "while"))
      return report(at, "bad-statement", "`do` needs its `while (...);`");
    loop.condition = {at + 2, program_.match[at + 1]};
    loop.range.end = loop.condition.end + 1;
    return end_of_simple(std::move(loop), end);
  }

  std::optional<Statement> parse_choice(size_t at, size_t end) {
    Statement choice;
    choice.kind = StatementKind::choice;
    if (!expect_bracket(at + 1, "switch")) return std::nullopt;
    choice.condition = {at + 2, program_.match[at + 1]};
    const size_t body = choice.condition.end + 1;
    if (body >= end || !is(body, "{"))
      return report(body, "bad-statement", "the body of a `switch` is a block");
    auto block = parse_block(body, true);
    choice.range.end = block->range.end;
    choice.children.push_back(std::move(*block));
    return choice;
  }

  std::optional<Statement> parse_label(size_t at, size_t end, bool in_choice) {
    if (!in_choice)
      return report(at, "bad-statement", "`case` and `default` stand directly in the block of a `switch`");
    Statement label;
    label.kind = StatementKind::label;
    const size_t colon = find(at + 1, end, ":", ";");
    if (!is(colon, ":")) return report(at, "bad-statement", "':' is missing");
    label.condition = {at + 1, colon};
    label.range.end = colon + 1;
    return label;
  }

  std::optional<Statement> end_of_simple(Statement statement, size_t end) {
    const size_t at = statement.range.end;
    if (at >= end || !is(at, ";")) return report(at, "bad-statement", "';' is missing before this");
    statement.range.end = at + 1;
    return statement;
  }

  std::optional<Statement> parse_simple(size_t at, size_t end) {
    Statement statement;
    const size_t stop = find(at, end, ";", ";");
    if (stop >= end) return report(at, "bad-statement", "';' is missing after this statement");
    statement.range = {at, stop};
    if (is(at, "break") || is(at, "continue") || is(at, "return")) {
      statement.kind = StatementKind::jump;
      statement.condition = {at + 1, stop};
    } else if (is_declaration({at, stop})) {
      statement.kind = StatementKind::declaration;
      const auto specifiers = read_specifiers(at, stop);
      statement.is_constant = specifiers.is_constant;
      if (is(specifiers.end + 1, "=") && is(specifiers.end + 2, "[")) {
        if (!parse_lambda(statement, specifiers.end)) return std::nullopt;
      } else {
        parse_declarators({at, stop}, statement.declared);
      }
    } else {
      statement.kind = StatementKind::expression;
      statement.condition = statement.range;
    }
    return end_of_simple(std::move(statement), end);
  }

  // auto name = [&](long j, vf& sum) __attribute__((always_inline)) -> vf {...}
  bool parse_lambda(Statement& statement, size_t name) {
    const char* hint = "write auto name = [&](long j, vf& sum) {...};";
    const size_t open = name + 2, parameters = program_.match[open] + 1;
    const bool captures = parameters == open + 3 && is(open + 1, "&");
    auto wrong = [&](size_t at, const char* message) {
      report(at, "bad-lambda", message, hint);
      return false;
    };
    if (vocabulary_.language == "metal") return wrong(open, "Metal has no local functions");
    if ((!captures && parameters != open + 2) || !is(parameters, "("))
      return wrong(open, "a local function captures all by reference or nothing");
    statement.kind = StatementKind::lambda;
    Declared itself;
    itself.name = name;
    statement.declared.push_back(itself);
    size_t at = after_bracket(parameters);
    if (!parse_parameters({parameters + 1, at - 1}, statement)) return false;
    if (is(at, "__attribute__")) at = after_bracket(at + 1);
    if (is(at, "->")) at = read_specifiers(at + 1, statement.range.end).end;
    if (!is(at, "{") || after_bracket(at) != statement.range.end)
      return wrong(at, "this is not the body of a local function");
    auto body = parse_block(at);
    statement.children.push_back(std::move(*body));
    return true;
  }

  bool parse_parameters(Range range, Statement& statement) {
    for (size_t at = range.begin; at < range.end;) {
      const size_t end = find(at, range.end, ",", ",");
      const auto specifiers = read_specifiers(at, end);
      if (specifiers.is_auto || !specifiers.has_type) {
        report(at, "bad-lambda", "the type of a parameter must be said: a function must not get itself");
        return false;
      }
      const size_t before = statement.declared.size();
      parse_declarators({at, end}, statement.declared);
      if (statement.declared.size() != before + 1) return false;
      statement.declared.back().is_parameter = true;
      at = std::min(end + 1, range.end);
    }
    return true;
  }

  Specifiers read_specifiers(size_t at, size_t end) const {
    Specifiers found;
    for (;; ++at) {
      found.end = at;
      if (at >= end) return found;
      const auto word = token(at).text;
      const auto& known = vocabulary_.qualifiers;
      if (is(at, "const")) {
        found.is_const = true;
      } else if (is(at, "constexpr")) {
        found.is_const = found.is_constant = true;
      } else if (is(at, "alignas") && is(at + 1, "(")) {
        at = program_.match[at + 1];
      } else if (std::find(std::begin(refused), std::end(refused), word) != std::end(refused)) {
        continue;
      } else if (std::find(known.begin(), known.end(), word) != known.end()) {
        found.is_shared |= word == "__shared__" || word == "threadgroup";
      } else if (is(at, vocabulary_.scope) && is(at + 1, "::") && is_type(vocabulary_, token(at + 2).text)) {
        found.has_type = true;
        at += 2;
      } else if (is(at, "auto") || is_type(vocabulary_, word)) {
        found.has_type = true;
        found.is_auto |= is(at, "auto");
      } else {
        return found;
      }
    }
  }

  bool is_decoration(size_t at) const {
    const auto& known = vocabulary_.qualifiers;
    return is(at, "*") || is(at, "&") || is(at, "const") ||
           std::find(known.begin(), known.end(), token(at).text) != known.end();
  }

  bool is_declaration(Range range) const {
    const auto specifiers = read_specifiers(range.begin, range.end);
    size_t at = specifiers.end;
    while (at < range.end && is_decoration(at))
      ++at;
    return specifiers.has_type && at < range.end && is_word(at);
  }

  void parse_declarators(Range range, std::vector<Declared>& declared) {
    const auto specifiers = read_specifiers(range.begin, range.end);
    for (size_t at = specifiers.end; at < range.end;) {
      Declared one;
      one.is_const = specifiers.is_const;
      one.is_constant = specifiers.is_constant;
      one.is_shared = specifiers.is_shared;
      for (; at < range.end && is_decoration(at); ++at) {
        one.is_pointer |= is(at, "*");
        one.is_reference |= is(at, "&");
      }
      if (at >= range.end || !is_word(at)) {
        report(at, "bad-declaration", "a name is missing here", "write type name = value;");
        return;
      }
      one.name = at++;
      one.bounds = {at, at};
      for (; at < range.end && is(at, "["); at = one.bounds.end)
        one.bounds.end = after_bracket(at);
      one.is_array = !one.bounds.empty();
      const size_t end = find(at, range.end, ",", ",");
      if (at < end && is(at, "=")) {
        one.value = {at + 1, end};
      } else if (at < end && is(at, "{")) {
        one.value = {at, end};
      } else if (at < end) {
        report(at, "bad-declaration", "a value follows `=` or stands in braces", "write type name = value;");
        return;
      }
      declared.push_back(one);
      at = end + 1;
    }
  }

  Program& program_;
  const std::vector<Token>& tokens_;
  const Vocabulary& vocabulary_;
  Errors& errors_;
  int depth_ = 0;
};

bool takes_template(std::string_view word, const Vocabulary& vocabulary) {
  if (word == "static_cast" || word == "reinterpret_cast") return true;
  const auto* function = find_function(vocabulary, word);
  return function && function->templated;
}

}  // namespace

size_t end_of_template(const Program& program, size_t at, size_t end, const Vocabulary& vocabulary) {
  const auto& tokens = program.tokens;
  if (at + 1 >= end || !tokens[at + 1].is("<")) return at + 1;
  if (tokens[at].kind != TokenKind::word || !takes_template(tokens[at].text, vocabulary)) return at + 1;
  int open = 0;
  for (size_t next = at + 1; next < end; ++next) {
    const auto& token = tokens[next];
    if (token.is("(") || token.is("[")) {
      next = program.match[next];
    } else if (token.is("<")) {
      ++open;
    } else if (token.is(">") && --open == 0) {
      return next + 1;
    } else if (token.is(";") || token.is("{")) {
      break;
    }
  }
  return at + 1;
}

Program parse(std::vector<Token> tokens, const Vocabulary& vocabulary, Errors& errors) {
  Program program;
  program.tokens = std::move(tokens);
  Parser(program, vocabulary, errors).run();
  return program;
}

}  // namespace autoperfect::code

#include "check/flow.h"

#include <algorithm>

namespace autoperfect::code {

bool is_assignment(const Token& token) {
  if (token.kind != TokenKind::punctuation || token.text.back() != '=') return false;
  return token.text != "==" && token.text != "!=" && token.text != "<=" && token.text != ">=";
}

Flow::Flow(const Program& program, const Vocabulary& vocabulary, const Abi& abi)
    : program_(program), vocabulary_(vocabulary), abi_(abi) {
  for (const auto& name : abi.inputs)
    names_[name] = Level::data;
  for (const auto& name : abi.outputs)
    names_[name] = Level::data;
  for (const auto& name : abi.pointers)
    names_[name] = Level::data;
  for (const auto& name : abi.ranges)
    names_[name] = Level::size;
  // The places of threads; what the CPU has is constant.
  if (vocabulary.language != "cpu") {
    for (const auto& name : vocabulary.names)
      names_[name] = Level::size;
  }
  collect(program.body, program.body.range);
  do {
    changed_ = false;
    walk(program.body);
  } while (changed_);
}

void Flow::collect(const Statement& statement, Range scope) {
  const bool opens_scope = statement.kind != StatementKind::declaration;
  if (opens_scope) scope = statement.range;
  for (const auto& one : statement.declared)
    scopes_[text(one.name)].push_back({one.name, scope.end});
  if (statement.kind == StatementKind::lambda) {
    auto& function = functions_[text(statement.declared.front().name)];
    function.range = statement.range;
    for (const auto& one : statement.declared)
      if (one.is_parameter) function.parameters.push_back(&one);
  }
  for (const auto& child : statement.children)
    collect(child, scope);
}

const Range* Flow::declaration_of(size_t at) const {
  const Range* found = nullptr;
  auto known = at > 0 && is(at - 1, ".") ? scopes_.end() : scopes_.find(text(at));
  if (known == scopes_.end()) return nullptr;
  for (const auto& scope : known->second) {
    if (scope.begin <= at && at < scope.end && (!found || scope.begin > found->begin)) found = &scope;
  }
  return found;
}

// Whether a variable is assigned tells what decided it; but nobody sees that of a variable that ends with
// what was decided.
Level Flow::control_of(size_t at) const {
  const auto* declaration = declaration_of(at);
  Level found = Level::constant;
  for (const auto& control : controls_) {
    const bool ends_inside =
        declaration && control.range.begin <= declaration->begin && declaration->begin < control.range.end;
    if (!ends_inside) found = std::max(found, control.level);
  }
  return found;
}

Level Flow::level_of(size_t at) const {
  const auto& token = program_.tokens[at];
  if (token.kind != TokenKind::word || (at > 0 && is(at - 1, "."))) return Level::constant;
  if (functions_.count(token.text)) return Level::data;
  auto known = names_.find(token.text);
  return known == names_.end() ? Level::constant : known->second;
}

Level Flow::level(Range range) const {
  Level found = Level::constant;
  for (size_t at = range.begin; at < range.end; ++at)
    found = std::max(found, level_of(at));
  return found;
}

void Flow::raise(std::string_view name, Level level) {
  auto& known = names_[name];
  if (known >= level) return;
  known = level;
  changed_ = true;
}

// Returns what decides the breaks and continues that leave the statement.
Level Flow::walk(const Statement& statement) {
  walk_declared(statement);
  for (const auto& range : statement.before)
    walk_expression(range);
  if (statement.kind != StatementKind::label) walk_expression(statement.condition);
  const bool is_loop = statement.kind == StatementKind::loop || statement.kind == StatementKind::repeat;
  const bool decides =
      is_loop || statement.kind == StatementKind::branch || statement.kind == StatementKind::choice;
  if (statement.kind == StatementKind::jump && !is(statement.range.begin, "return")) {
    Level found = Level::constant;
    for (const auto& control : controls_)
      found = std::max(found, control.level);
    return found;
  }
  if (!decides) return walk_children(statement);
  const Level exit = is_loop ? exits_[&statement] : Level::constant;
  controls_.push_back({statement.range, std::max(exit, level(statement.condition))});
  walk_expression(statement.step);
  if (is_loop) walk_expression(statement.condition);
  const Level leaves = walk_children(statement);
  controls_.pop_back();
  if (!is_loop) return leaves;
  if (leaves > exit) {
    exits_[&statement] = leaves;
    changed_ = true;
  }
  return Level::constant;
}

Level Flow::walk_children(const Statement& statement) {
  const bool is_function = statement.kind == StatementKind::lambda;
  const auto* outside = inside_;
  if (is_function) inside_ = &functions_[text(statement.declared.front().name)];
  Level leaves = Level::constant;
  for (const auto& child : statement.children)
    leaves = std::max(leaves, walk(child));
  inside_ = outside;
  return is_function ? Level::constant : leaves;
}

// What can be changed through another name, or has no value of its own, is data.
void Flow::walk_declared(const Statement& statement) {
  for (size_t d = statement.kind == StatementKind::lambda ? 1 : 0; d < statement.declared.size(); ++d) {
    const auto& one = statement.declared[d];
    const bool is_alias = one.is_array || one.is_pointer || (one.is_reference && !one.is_const);
    if (is_alias || (one.value.empty() && !one.is_parameter)) raise(text(one.name), Level::data);
    raise(text(one.name), level(one.value));
    walk_expression(one.value);
    if (one.is_reference && !one.is_const) assign_all(one.value, Level::data);
  }
}

bool Flow::is_operand_end(size_t at) const {
  const auto kind = program_.tokens[at].kind;
  return (kind == TokenKind::word && !is(at, "return")) || kind == TokenKind::number || is(at, ")") ||
         is(at, "]");
}

void Flow::walk_expression(Range range) {
  // Parts of it may be skipped.
  Level decided = Level::constant;
  for (size_t at = range.begin; at < range.end; ++at) {
    if (is(at, "?") || is(at, "&&") || is(at, "||")) decided = level(range);
  }
  for (size_t at = range.begin; at < range.end; ++at) {
    if (is_assignment(program_.tokens[at])) {
      if (at > range.begin) assign(at - 1, level(range));
    } else if (is(at, "++") || is(at, "--")) {
      const bool follows = at > range.begin && is_operand_end(at - 1);
      if (follows || at + 1 < range.end) assign(follows ? at - 1 : at + 1, decided);
    } else if (is(at, "&") && at + 1 < range.end && (at == range.begin || !is_operand_end(at - 1))) {
      assign(at + 1, Level::data);
    } else if (at + 1 < range.end && program_.tokens[at].kind == TokenKind::word) {
      call(at, range);
    }
  }
}

// To what ends, or begins, at a token.
void Flow::assign(size_t at, Level level) {
  while (is(at, "]") || (at > 1 && is(at - 1, ".")))
    at = is(at, "]") ? program_.match[at] - 1 : at - 2;
  if (is(at, ")")) return assign_all({program_.match[at], at}, level);
  if (is(at, "(")) return assign_all({at, program_.match[at]}, level);
  if (program_.tokens[at].kind == TokenKind::word) assign_name(at, level);
}

void Flow::assign_name(size_t at, Level level) {
  const auto* declaration = declaration_of(at);
  if (!declaration && !abi_.has(text(at))) return;
  const bool is_inner = declaration && inside_ && inside_->range.begin <= declaration->begin &&
                        declaration->begin < inside_->range.end;
  // A function may be called anywhere.
  if (inside_ && !is_inner) level = Level::data;
  raise(text(at), std::max(level, control_of(at)));
}

void Flow::assign_all(Range range, Level level) {
  for (size_t at = range.begin; at < range.end; ++at) {
    if (is(at, "[")) {
      at = program_.match[at];
    } else if (program_.tokens[at].kind == TokenKind::word) {
      assign_name(at, level);
    }
  }
}

std::vector<Range> Flow::arguments(Range inside) const {
  std::vector<Range> found;
  for (size_t begin = inside.begin; begin < inside.end;) {
    size_t end = begin;
    while (end < inside.end && !is(end, ","))
      end = is(end, "(") || is(end, "[") || is(end, "{")
                ? program_.match[end] + 1
                : end_of_template(program_, end, inside.end, vocabulary_);
    end = std::min(end, inside.end);
    found.push_back({begin, end});
    begin = end + 1;
  }
  return found;
}

// The result of arithmetic, which no reference to something that may change can name.
bool Flow::is_computed(Range argument) const {
  bool found = false;
  for (size_t at = argument.begin; at < argument.end; ++at) {
    if (is(at, "?") || is(at, "++") || is(at, "--") || is_assignment(program_.tokens[at])) return false;
    const bool is_binary = at > argument.begin && is_operand_end(at - 1);
    for (const char* op : {"+", "-", "*", "/", "%", "|", "^", "<<"})
      found |= is_binary && is(at, op);
    if (is(at, "(") || is(at, "[") || is(at, "{")) at = program_.match[at];
  }
  return found;
}

void Flow::call(size_t at, Range expression) {
  const size_t open = end_of_template(program_, at, expression.end, vocabulary_);
  if (open >= expression.end || !is(open, "(")) return;
  const auto given = arguments({open + 1, program_.match[open]});
  const auto* known = find_function(vocabulary_, text(at));
  if (known && known->changes) {
    for (const auto& argument : given)
      if (!is_computed(argument)) assign_all(argument, level(expression));
  }
  auto found = functions_.find(text(at));
  if (found == functions_.end()) return;
  const auto& parameters = found->second.parameters;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const auto argument = p < given.size() ? given[p] : Range{open, open};
    raise(text(parameters[p]->name), level(argument));
    // What a pointer leads to has no level of its own: arrays, and what has its address taken, are data.
    if (parameters[p]->is_reference && !parameters[p]->is_const) assign_all(argument, Level::data);
  }
}

}  // namespace autoperfect::code

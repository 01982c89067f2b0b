#include "check/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "check/names.h"

namespace autoperfect::code {

namespace {

using Names = std::set<std::string_view>;

class MemoryCheck {
 public:
  MemoryCheck(
      const Program& program, const Vocabulary& vocabulary, const Abi& abi, const Flow& flow, Errors& errors)
      : program_(program),
        tokens_(program.tokens),
        vocabulary_(vocabulary),
        abi_(abi),
        flow_(flow),
        errors_(errors) {
    collect_declared(program.body, declared_);
    for (const auto* names : {&abi.inputs, &abi.outputs, &abi.pointers}) {
      for (const auto& name : *names)
        buffers_[name] = {name};
    }
    for (const auto* one : declared_) {
      if (one->is_array) roots_[one->name];
    }
    find_roots();
    collect_functions(program.body);
  }

  void run(std::set<std::string>& written) {
    for (size_t at = 0; at + 1 < tokens_.size(); ++at) {
      if (is_assignment(tokens_[at]) && at > 0) assigned(at - 1, written);
      if ((is(at, "++") || is(at, "--")) && at > 0) assigned(at - 1, written);
      if (tokens_[at].kind == TokenKind::word) called(at, written);
      if (is(at, "(")) check_cast(at);
    }
    for (const auto* one : declared_) {
      if (one->is_array && flow_.level(one->bounds) != Level::constant)
        report(one->name, "bad-array", "the size of an array is a constant", "use scratch for more");
    }
  }

 private:
  bool is(size_t at, std::string_view wanted) const { return at < tokens_.size() && tokens_[at].is(wanted); }
  std::string_view text(size_t at) const { return tokens_[at].text; }
  void report(size_t at, const char* code, std::string message, std::string hint = "") {
    errors_.add(code, std::move(message), tokens_[at].where, std::move(hint));
  }

  void collect_functions(const Statement& statement) {
    if (statement.kind == StatementKind::lambda) functions_.insert(text(statement.declared.front().name));
    for (const auto& child : statement.children)
      collect_functions(child);
  }

  // The buffers that the words of a range lead to, what stands in square brackets aside, and maybe what
  // functions are given.
  Names roots_of(Range range, bool skip_calls = false) const {
    Names found;
    for (size_t at = range.begin; at < range.end; ++at) {
      const bool is_call = is(at, "(") && at > 0 && tokens_[at - 1].kind == TokenKind::word;
      if (is(at, "[") || (skip_calls && (is_call || is(at, "{")))) at = program_.match[at];
      if (const auto* roots = pointer_at(at)) found.insert(roots->begin(), roots->end());
    }
    return found;
  }

  // What the word at a token leads to; null: it is no pointer.
  const Names* pointer_at(size_t at) const {
    if (tokens_[at].kind != TokenKind::word) return nullptr;
    if (const auto* declaration = flow_.declaration_of(at)) {
      auto known = roots_.find(declaration->begin);
      return known == roots_.end() ? nullptr : &known->second;
    }
    if (at > 0 && is(at - 1, ".")) return nullptr;
    auto known = buffers_.find(text(at));
    return known == buffers_.end() ? nullptr : &known->second;
  }

  // A pointer, a reference or an auto leads where what it is made of leads.
  void find_roots() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto* one : declared_) {
        const bool says_so = one->is_pointer || one->is_reference;
        auto from = roots_of(one->value, !says_so);
        const bool may_point = says_so || is_auto(*one);
        if (from.empty() || !may_point) continue;
        auto& known = roots_[one->name];
        const size_t before = known.size();
        known.insert(from.begin(), from.end());
        changed |= known.size() != before;
      }
    }
  }

  bool is_auto(const Declared& one) const {
    for (size_t at = one.name; at > 0 && !is(at, ";") && !is(at, "{") && !is(at, "("); --at) {
      if (is(at - 1, "auto")) return true;
    }
    return false;
  }

  bool is_input(std::string_view name) const {
    return std::find(abi_.inputs.begin(), abi_.inputs.end(), name) != abi_.inputs.end();
  }
  bool is_output(std::string_view name) const {
    return std::find(abi_.outputs.begin(), abi_.outputs.end(), name) != abi_.outputs.end();
  }

  void write(size_t at, const Names& roots, std::set<std::string>& written) {
    for (auto name : roots) {
      if (is_output(name)) written.insert(std::string(name));
      if (is_input(name))
        report(at, "writes-input", fmt::format("'{}' is an input and is not written", name));
    }
  }

  // x[...] =, *x =, (...)[...] =: something behind a pointer.
  void assigned(size_t end, std::set<std::string>& written) {
    size_t at = end;
    bool is_behind = false;
    while (is(at, "]") || (at > 1 && is(at - 1, "."))) {
      is_behind |= is(at, "]");
      at = is(at, "]") ? program_.match[at] - 1 : at - 2;
    }
    Range range{at, at + 1};
    if (is(at, ")")) range = {program_.match[at], at};
    while (range.begin > 0 && is(range.begin - 1, ")") && is_cast(program_.match[range.begin - 1]))
      range.begin = program_.match[range.begin - 1];
    is_behind |= range.begin > 0 && is(range.begin - 1, "*") && !ends_operand(range.begin - 2);
    auto roots = roots_of(range);
    if (is_behind) return write(range.begin, roots, written);
    if (abi_.has(text(at))) report(at, "reserved-name", fmt::format("'{}' is not assigned", text(at)));
  }

  // `)` after the condition of a statement ends none.
  bool ends_operand(size_t at) const {
    if (at >= tokens_.size()) return false;
    if (is(at, ")")) {
      const size_t before = program_.match[at] - 1;
      return !is(before, "if") && !is(before, "for") && !is(before, "while") && !is(before, "switch");
    }
    return tokens_[at].kind == TokenKind::number || is(at, "]") ||
           (tokens_[at].kind == TokenKind::word && !is(at, "return") && !is(at, "else"));
  }

  void called(size_t at, std::set<std::string>& written) {
    const size_t open = end_of_template(program_, at, tokens_.size(), vocabulary_);
    if (!is(open, "(") || is(at, "if") || is(at, "for") || is(at, "while") || is(at, "switch")) return;
    const Range inside{open + 1, program_.match[open]};
    if (functions_.count(text(at))) {
      for (auto name : roots_of(inside)) {
        if (is_output(name)) written.insert(std::string(name));
      }
    }
    const auto* function = find_function(vocabulary_, text(at));
    if (!function || function->written < 0) return;
    size_t begin = inside.begin;
    for (int argument = 0;; ++argument) {
      size_t end = begin;
      while (end < inside.end && !is(end, ","))
        end = is(end, "(") || is(end, "[") || is(end, "{")
                  ? program_.match[end] + 1
                  : end_of_template(program_, end, inside.end, vocabulary_);
      if (argument == function->written)
        return write(at, roots_of({begin, std::min(end, inside.end)}), written);
      if (end >= inside.end) return;
      begin = end + 1;
    }
  }

  bool is_cast(size_t open) const {
    const size_t close = program_.match[open];
    return close > open + 1 && (is(close - 1, "*") || is(close - 1, "const"));
  }

  // (f32*)x, reinterpret_cast<f32*>(x)
  void check_cast(size_t open) {
    const size_t close = program_.match[open];
    Range type{open + 1, close}, operand;
    if (open > 0 && is(open - 1, ">")) {
      size_t begin = open - 1;
      while (begin > 0 && !is(begin, "<"))
        --begin;
      if (begin == 0 || (!is(begin - 1, "reinterpret_cast") && !is(begin - 1, "static_cast"))) return;
      type = {begin + 1, open - 1};
      operand = {open + 1, close};
    } else {
      if (!is_cast(open)) return;
      operand = operand_after(close + 1);
    }
    check_pointer_cast(open, type, operand);
  }

  // A name, a call, something in brackets; with what is indexed after it.
  Range operand_after(size_t begin) const {
    size_t at = begin;
    while (is(at, "&") || is(at, "*") || is(at, "-") || is(at, "~") || is(at, "!"))
      ++at;
    if (is(at, "(") && is(program_.match[at] - 1, "*")) at = program_.match[at] + 1;  // a cast of a cast
    at = is(at, "(") ? program_.match[at] + 1 : at + 1;
    while (is(at, "(") || is(at, "[") || is(at, "::"))
      at = is(at, "::") ? at + 2 : program_.match[at] + 1;
    return {begin, std::min(at, tokens_.size() - 1)};
  }

  void check_pointer_cast(size_t place, Range type, Range operand) {
    bool is_const = false, is_pointer = false;
    for (size_t at = type.begin; at < type.end; ++at) {
      if (is(at, "*")) is_pointer = true;
      if (is(at, "const") && !is_pointer) is_const = true;
      if (tokens_[at].kind == TokenKind::number) return;  // an expression
    }
    if (!is_pointer) return;
    bool from_pointer = false;
    for (size_t at = operand.begin; at < operand.end; ++at)
      from_pointer |= pointer_at(at) || is_address(at);
    if (!from_pointer) report(place, "bad-cast", "a pointer is made of a pointer, not of a number");
    if (is_const) return;
    for (auto name : roots_of(operand)) {
      if (is_input(name) || name == "partials")
        report(place, "bad-cast", fmt::format("'{}' stays const", name), "cast to a pointer to const");
    }
  }

  bool is_address(size_t at) const { return is(at, "&") && (at == 0 || !ends_operand(at - 1)); }

  const Program& program_;
  const std::vector<Token>& tokens_;
  const Vocabulary& vocabulary_;
  const Abi& abi_;
  const Flow& flow_;
  Errors& errors_;
  std::vector<const Declared*> declared_;
  std::map<std::string_view, Names> buffers_;
  std::map<size_t, Names> roots_;  // of pointers, by their declaration: the buffers they lead to
  Names functions_;
};

}  // namespace

void check_memory(
    const Program& program,
    const Vocabulary& vocabulary,
    const Abi& abi,
    const Flow& flow,
    Errors& errors,
    std::set<std::string>& written) {
  MemoryCheck(program, vocabulary, abi, flow, errors).run(written);
}

}  // namespace autoperfect::code

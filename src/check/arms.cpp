#include "check/arms.h"

#include <fmt/format.h>

#include <algorithm>

namespace autoperfect::code {

namespace {

class Counter {
 public:
  Counter(
      const Program& program,
      const Vocabulary& vocabulary,
      const Flow& flow,
      std::string_view source,
      std::vector<Arm>& arms,
      std::vector<Insertion>& insertions)
      : program_(program),
        tokens_(program.tokens),
        vocabulary_(vocabulary),
        flow_(flow),
        source_(source),
        arms_(arms),
        insertions_(insertions) {
    collect_functions(program.body);
  }

  void run() { count(program_.body); }

 private:
  bool is(size_t at, std::string_view text) const { return tokens_[at].is(text); }
  bool is_open(size_t at) const { return is(at, "(") || is(at, "[") || is(at, "{"); }

  void collect_functions(const Statement& statement) {
    if (statement.kind == StatementKind::lambda)
      functions_.push_back(tokens_[statement.declared.front().name].text);
    for (const auto& child : statement.children)
      collect_functions(child);
  }

  size_t begin_of(size_t at) const { return static_cast<size_t>(tokens_[at].text.data() - source_.data()); }
  size_t end_of(size_t at) const { return begin_of(at) + tokens_[at].text.size(); }
  // Where text that comes before a statement goes: a pragma keeps its line for itself.
  size_t before(size_t at) const {
    if (tokens_[at].kind != TokenKind::pragma) return begin_of(at);
    return at > 0 ? end_of(at - 1) : 0;
  }
  void insert(size_t offset, std::string text) { insertions_.push_back({offset, std::move(text)}); }

  // Expression that marks a new arm as reached.
  std::string mark(size_t at, const char* what) {
    arms_.push_back({tokens_[at].where.line, what});
    return fmt::format("reached[{}]=1", arms_.size() - 1);
  }

  void count(const Statement& statement) {
    const bool counts = flow_.level(statement.condition) != Level::constant;
    switch (statement.kind) {
      case StatementKind::branch:
        return count_branch(statement, counts && !statement.is_constant);
      case StatementKind::loop:
        return count_loop(statement, counts);
      case StatementKind::repeat:
        return count_repeat(statement, counts);
      case StatementKind::choice:
        return count_choice(statement, counts);
      case StatementKind::label:
        return;
      case StatementKind::declaration:
        if (!statement.is_constant) count_values(statement);
        return;
      case StatementKind::expression:
      case StatementKind::jump:
        return count_expression(statement.condition);
      case StatementKind::block:
      case StatementKind::lambda:
        for (const auto& child : statement.children)
          count(child);
    }
  }

  void count_values(const Statement& statement) {
    for (const auto& one : statement.declared)
      count_expression(one.value);
    for (const auto& range : statement.before)
      count_expression(range);
  }

  void count_body(const Statement& body, const std::string& first) {
    if (!first.empty()) insert(before(body.range.begin), "{" + first);
    count(body);
    if (!first.empty()) insert(end_of(body.range.end - 1), "}");
  }

  void count_branch(const Statement& branch, bool counts) {
    count_values(branch);
    const bool declares =
        std::any_of(branch.declared.begin(), branch.declared.end(), [&](const Declared& one) {
          return one.name >= branch.condition.begin;
        });
    if (!branch.is_constant && !declares) count_expression(branch.condition);
    const auto& then = branch.children.front();
    const size_t at = branch.range.begin;
    count_body(then, counts ? mark(at, "then") + ";" : "");
    if (branch.children.size() > 1) {
      const auto& otherwise = branch.children.back();
      count_body(otherwise, counts ? mark(otherwise.range.begin, "else") + ";" : "");
    } else if (counts) {
      insert(end_of(then.range.end - 1), "else{" + mark(at, "else") + ";}");
    }
  }

  // Whether a loop may be skipped is asked only where data decides: ranges of sizes are tried at all sizes,
  // and no chunk is empty.
  void count_loop(const Statement& loop, bool counts) {
    const bool may_be_skipped = flow_.level(loop.condition) == Level::data;
    const size_t at = loop.range.begin;
    const size_t first = before(at);
    std::string body, entered;
    if (counts) body = mark(at, "loop body") + ";";
    if (may_be_skipped) {
      entered = fmt::format("ap_entered{}", arms_.size());
      insert(first, fmt::format("{{bool {}=false;", entered));
      body += entered + "=true;";
    }
    count_values(loop);
    count_expression(loop.condition);
    count_expression(loop.step);
    count_body(loop.children.front(), body);
    if (may_be_skipped)
      insert(end_of(loop.range.end - 1), fmt::format("if(!{}){{{};}}}}", entered, mark(at, "loop skipped")));
  }

  void count_repeat(const Statement& loop, bool counts) {
    count_body(loop.children.front(), "");
    if (counts) insert(begin_of(loop.condition.begin), "(");
    count_expression(loop.condition);
    if (counts)
      insert(
          end_of(loop.condition.end - 1),
          fmt::format(")&&({},true)", mark(loop.condition.begin, "loop repeated")));
  }

  // A default that nobody wrote comes first, where it crosses no declaration.
  void count_choice(const Statement& choice, bool counts) {
    count_expression(choice.condition);
    const auto& block = choice.children.front();
    const auto& all = block.children;
    const bool has_default = std::any_of(all.begin(), all.end(), [&](const Statement& child) {
      return child.kind == StatementKind::label && is(child.range.begin, "default");
    });
    if (counts && !has_default)
      insert(end_of(block.range.begin), "default:" + mark(choice.range.begin, "default") + ";break;");
    for (const auto& child : all) {
      count(child);
      if (counts && child.kind == StatementKind::label)
        insert(end_of(child.range.end - 1), mark(child.range.begin, "case") + ";");
    }
  }

  // `?:`, `&&` and `||`, in brackets too.
  void count_expression(Range range) {
    size_t begin = range.begin;  // of the operand at hand
    for (size_t at = range.begin; at < range.end;) {
      if (is_open(at)) {
        count_list({at + 1, program_.match[at]});
        at = program_.match[at] + 1;
      } else if (is(at, "?")) {
        count_choices(begin, at, range.end);
        return;
      } else if (is(at, "&&") || is(at, "||")) {
        count_right(begin, at, range.end);
        ++at;
      } else {
        if (is(at, ",") || is_assignment(tokens_[at]) || is(at, "return")) begin = at + 1;
        at = std::min(range.end, end_of_template(program_, at, range.end, vocabulary_));
      }
    }
  }

  // What stands between brackets: parts of their own.
  void count_list(Range range) {
    for (size_t at = range.begin; at < range.end;) {
      const size_t end = find_end(at, range.end, false);
      count_expression({at, end});
      at = end + 1;
    }
  }

  // The next comma (or colon, when asked) outside of brackets, template arguments and inner choices.
  size_t find_end(size_t at, size_t end, bool colon) const {
    for (int choices = 0; at < end;) {
      if (is(at, "?")) ++choices;
      if (is(at, ":") && choices-- == 0 && colon) return at;
      if (is(at, ",") && choices <= 0 && !colon) return at;
      at = is_open(at) ? program_.match[at] + 1 : end_of_template(program_, at, end, vocabulary_);
    }
    return end;
  }

  // condition ? a : b, up to the next comma.
  void count_choices(size_t begin, size_t question, size_t limit) {
    const size_t colon = find_end(question + 1, limit, true);
    if (colon >= limit) return;
    const size_t end = find_end(colon + 1, limit, false);
    const bool counts = flow_.level({begin, question}) != Level::constant;
    const Range first{question + 1, colon}, second{colon + 1, end};
    for (const auto& arm : {first, second}) {
      if (arm.empty()) continue;
      if (counts) insert(begin_of(arm.begin), fmt::format("({},", mark(question, "?:")));
      count_expression(arm);
      if (counts) insert(end_of(arm.end - 1), ")");
    }
    if (end < limit) count_expression({end + 1, limit});
  }

  // The operand after && or ||, where it does something.
  void count_right(size_t begin, size_t at, size_t limit) {
    const bool is_and = is(at, "&&");
    size_t end = at + 1;
    while (end < limit && !is(end, "||") && !is(end, "?") && !is(end, ":") && !is(end, ",") &&
           !(is_and && is(end, "&&")))
      end = is_open(end) ? program_.match[end] + 1 : end_of_template(program_, end, limit, vocabulary_);
    end = std::min(end, limit);
    if (end == at + 1 || flow_.level({begin, at}) == Level::constant || !acts({at + 1, end})) return;
    insert(begin_of(at + 1), fmt::format("({},", mark(at, is_and ? "&&" : "||")));
    insert(end_of(end - 1), ")");
  }

  bool acts(Range range) const {
    for (size_t at = range.begin; at < range.end; ++at) {
      if (is_assignment(tokens_[at]) || is(at, "++") || is(at, "--")) return true;
      if (tokens_[at].kind != TokenKind::word) continue;
      const auto* function = find_function(vocabulary_, tokens_[at].text);
      if (function && (function->written >= 0 || function->changes)) return true;
      if (std::find(functions_.begin(), functions_.end(), tokens_[at].text) != functions_.end()) return true;
    }
    return false;
  }

  const Program& program_;
  const std::vector<Token>& tokens_;
  const Vocabulary& vocabulary_;
  const Flow& flow_;
  std::string_view source_;
  std::vector<Arm>& arms_;
  std::vector<Insertion>& insertions_;
  std::vector<std::string_view> functions_;  // the draft's own
};

}  // namespace

void add_arms(
    const Program& program,
    const Vocabulary& vocabulary,
    const Flow& flow,
    std::string_view source,
    std::vector<Arm>& arms,
    std::vector<Insertion>& insertions) {
  Counter(program, vocabulary, flow, source, arms, insertions).run();
}

std::string with_insertions(std::string_view source, std::vector<Insertion> insertions) {
  std::stable_sort(insertions.begin(), insertions.end(), [](const Insertion& a, const Insertion& b) {
    return a.offset < b.offset;
  });
  std::string text;
  size_t at = 0;
  for (const auto& one : insertions) {
    text += source.substr(at, one.offset - at);
    text += one.text;
    at = one.offset;
  }
  return text += source.substr(at);
}

}  // namespace autoperfect::code

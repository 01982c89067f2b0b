#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <set>
#include <string>

#include "check/arms.h"
#include "check/names.h"

namespace autoperfect::code {

namespace {

// Whether the words of a range compare or choose by size.
constexpr std::string_view comparisons[] = {
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "maximum",
    "minimum",
    "larger",
    "smaller",
    "clamp",
    "fmaxf",
    "fminf",
    "max",
    "min",
    "floor",
    "round",
    "ceil",
    "trunc"};

class Collector {
 public:
  Collector(const Program& program, const Vocabulary& vocabulary, const Flow& flow)
      : program_(program), tokens_(program.tokens), vocabulary_(vocabulary), flow_(flow) {
    collect_declared(program.body, declared_);
  }

  std::set<double> run() {
    walk(program_.body);
    return std::move(found_);
  }

 private:
  std::string_view text(size_t at) const { return tokens_[at].text; }

  void walk(const Statement& statement) {
    look_at(statement.condition, statement.kind == StatementKind::choice);
    for (const auto& range : statement.before)
      look_at(range);
    look_at(statement.step);
    for (const auto& one : statement.declared)
      look_at(one.value);
    for (const auto& child : statement.children)
      walk(child);
    if (statement.kind == StatementKind::label) take(statement.condition);
  }

  void look_at(Range range, bool always = false) {
    if ((always || compares(range)) && flow_.level(range) == Level::data) take(range);
  }

  bool compares(Range range) const {
    for (size_t at = range.begin; at < range.end;) {
      const size_t next = end_of_template(program_, at, range.end, vocabulary_);
      const auto word = text(at);
      const bool is_operator = tokens_[at].kind == TokenKind::punctuation &&
                               (word == "<" || word == ">" || word == "<=" || word == ">=" || word == "==" ||
                                word == "!=" || word == "?");
      if (is_operator ||
          std::find(std::begin(comparisons), std::end(comparisons), word) != std::end(comparisons))
        return true;
      at = next;
    }
    return false;
  }

  // The numbers of a range and of what its names begin as.
  void take(Range range) {
    for (size_t at = range.begin; at < range.end && found_.size() <= most_constants; ++at) {
      if (tokens_[at].kind == TokenKind::number) take_number(at);
      if (tokens_[at].kind != TokenKind::word) continue;
      for (const auto* one : declared_) {
        if (text(one->name) != text(at) || flow_.level(one->value) == Level::data) continue;
        if (seen_.insert(one).second) take(one->value);
      }
    }
  }

  bool is_negated(size_t at) const {
    if (at == 0 || !tokens_[at - 1].is("-")) return false;
    if (at == 1) return true;
    const auto& before = tokens_[at - 2];
    return before.kind == TokenKind::punctuation && !before.is(")") && !before.is("]");
  }

  void take_number(size_t at) {
    auto digits = text(at);
    const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (is_hex) digits.remove_prefix(2);
    double value = 0;
    const auto format = is_hex ? std::chars_format::hex : std::chars_format::general;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value, format).ec != std::errc())
      return;
    if (is_negated(at)) value = -value;
    found_.insert(value);
    // Maybe the bits of a float.
    const bool is_whole = text(at).find_first_of(is_hex ? ".pP" : ".eE") == std::string_view::npos;
    if (!is_whole || value < 0x800000 || value > 0xffffffff) return;
    const auto bits = std::bit_cast<float>(static_cast<uint32_t>(value));
    if (std::isfinite(bits)) found_.insert(bits);
  }

  const Program& program_;
  const std::vector<Token>& tokens_;
  const Vocabulary& vocabulary_;
  const Flow& flow_;
  std::vector<const Declared*> declared_;
  std::set<const Declared*> seen_;
  std::set<double> found_;
};

}  // namespace

void add_constants(
    const Program& program, const Vocabulary& vocabulary, const Flow& flow, std::vector<double>& constants) {
  auto found = Collector(program, vocabulary, flow).run();
  found.insert(constants.begin(), constants.end());
  constants.assign(found.begin(), found.end());
}

}  // namespace autoperfect::code

#include "check/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "support/spelling.h"

namespace autoperfect::code {

namespace {

using Words = std::unordered_set<std::string_view>;

// Of C++, CUDA and Metal, why a draft does without.
struct Refused {
  std::string_view word;
  const char* reason;
};
constexpr const char* remembers = "nothing may be remembered between calls";
constexpr const char* types_only = "a draft defines no types, templates or functions";
constexpr const char* elsewhere = "a draft uses nothing that is defined elsewhere";
constexpr const char* spelled = "alternative spellings of operators are not allowed";
constexpr const char* errors_thrown = "exceptions are not allowed";
constexpr const char* memory = "nothing is allocated";
constexpr const char* hidden_jump = "jumps are not allowed but break, continue and return";
constexpr const char* coroutine = "coroutines are not allowed";
constexpr Refused refused[] = {
    {"static", remembers},
    {"thread_local", remembers},
    {"extern", elsewhere},
    {"register", remembers},
    {"volatile", "volatile is not allowed"},
    {"mutable", remembers},
    {"inline", types_only},
    {"asm", "inline assembly is not allowed"},
    {"__asm__", "inline assembly is not allowed"},
    {"__asm", "inline assembly is not allowed"},
    {"goto", hidden_jump},
    {"struct", types_only},
    {"class", types_only},
    {"union", types_only},
    {"enum", types_only},
    {"template", types_only},
    {"typename", types_only},
    {"typedef", types_only},
    {"using", elsewhere},
    {"namespace", elsewhere},
    {"operator", types_only},
    {"friend", types_only},
    {"virtual", types_only},
    {"explicit", types_only},
    {"public", types_only},
    {"private", types_only},
    {"protected", types_only},
    {"this", types_only},
    {"concept", types_only},
    {"requires", types_only},
    {"consteval", types_only},
    {"constinit", remembers},
    {"new", memory},
    {"delete", memory},
    {"throw", errors_thrown},
    {"try", errors_thrown},
    {"catch", errors_thrown},
    {"noexcept", errors_thrown},
    {"typeid", elsewhere},
    {"decltype", "write the type or auto"},
    {"const_cast", "const is not cast away"},
    {"dynamic_cast", elsewhere},
    {"and", spelled},
    {"or", spelled},
    {"not", spelled},
    {"xor", spelled},
    {"bitand", spelled},
    {"bitor", spelled},
    {"compl", spelled},
    {"and_eq", spelled},
    {"or_eq", spelled},
    {"xor_eq", spelled},
    {"not_eq", spelled},
    {"co_await", coroutine},
    {"co_return", coroutine},
    {"co_yield", coroutine},
    {"import", elsewhere},
    {"module", elsewhere},
    {"export", elsewhere},
    {"alignof", "write the number"},
    {"nullptr", "every pointer of a draft points to memory"},
    {"wchar_t", types_only},
    {"char8_t", types_only},
    {"char16_t", types_only},
    {"char32_t", types_only},
    {"__device__", types_only},
    {"__global__", types_only},
    {"__constant__", remembers},
    {"__managed__", remembers},
    {"kernel", types_only},
    {"printf", elsewhere},
    {"malloc", memory},
    {"free", memory},
    {"atomicAdd", "atomics are not allowed: their order is nobody's"},
};

const char* reason_against(std::string_view word) {
  for (const auto& one : refused) {
    if (one.word == word) return one.reason;
  }
  return nullptr;
}

// Names our own text around a draft uses, and those that belong to compilers.
bool is_reserved(std::string_view word) {
  return word.starts_with('_') || word.find("__") != std::string_view::npos || word.starts_with("ap_") ||
         word.starts_with("AP_") || word == "ap" || word.starts_with("autoperfect") || word == "reached";
}

// MLX adds a parameter to a kernel whose text has such a word, wherever it stands.
bool is_mlx_trap(std::string_view word) {
  return word.ends_with("_shape") || word.ends_with("_strides") || word.ends_with("_ndim");
}

bool is_known_number(std::string_view text, bool is_metal) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const bool is_real = text.find('.') != std::string_view::npos ||
                       text.find_first_of(is_hex ? "pP" : "eE") != std::string_view::npos;
  auto digits = text;
  while (!digits.empty()) {
    const char c = digits.back();
    const bool suffix = is_real ? (c == 'f' || c == 'F' || (is_metal && c == 'h'))
                                : (c == 'u' || c == 'U' || c == 'l' || c == 'L');
    if (!suffix) break;
    digits.remove_suffix(1);
  }
  if (text.size() - digits.size() > 3) return false;
  if (is_hex) digits.remove_prefix(2);
  const std::string_view allowed = is_hex
                                       ? (is_real ? "0123456789abcdefABCDEF.pP+-" : "0123456789abcdefABCDEF")
                                       : (is_real ? "0123456789.eE+-" : "0123456789");
  return !digits.empty() && digits.find_first_not_of(allowed) == std::string_view::npos;
}

class NameCheck {
 public:
  NameCheck(const Program& program, const Vocabulary& vocabulary, const Abi& abi, bool whole, Errors& errors)
      : tokens_(program.tokens),
        match_(program.match),
        vocabulary_(vocabulary),
        abi_(abi),
        whole_(whole),
        errors_(errors) {
    std::vector<const Declared*> declared;
    collect_declared(program.body, declared);
    for (const auto* one : declared)
      declare(*one);
    collect_functions(program.body);
  }

  void run() {
    for (size_t at = 0; at + 1 < tokens_.size(); ++at) {
      const auto& token = tokens_[at];
      if (token.kind == TokenKind::word) {
        at = check_word(at);
      } else if (token.kind == TokenKind::number) {
        if (!is_known_number(token.text, vocabulary_.language == "metal"))
          report(
              at,
              "bad-number",
              fmt::format("'{}' is not a number", token.text),
              "write it as 1.5f, 2 or 0x1p-3f");
      } else {
        check_punctuation(at);
      }
    }
  }

 private:
  bool is(size_t at, std::string_view text) const { return at < tokens_.size() && tokens_[at].is(text); }
  std::string_view text(size_t at) const { return tokens_[std::min(at, tokens_.size() - 1)].text; }
  bool before_is(size_t at, std::string_view text) const { return at > 0 && is(at - 1, text); }

  void report(size_t at, const char* code, std::string message, std::string hint = "") {
    errors_.add(code, std::move(message), tokens_[at].where, std::move(hint));
  }

  void collect_functions(const Statement& statement) {
    if (statement.kind == StatementKind::lambda) {
      const size_t name = statement.declared.front().name;
      functions_.insert(text(name));
      if (find_function(vocabulary_, text(name)))
        report(
            name,
            "reserved-name",
            fmt::format("'{}' is a function already", text(name)),
            "take another name");
    }
    for (const auto& child : statement.children)
      collect_functions(child);
  }

  // Functions of the language may give their names away: they are then no more called.
  void declare(const Declared& one) {
    const auto word = text(one.name);
    if (is_reserved(word) || abi_.has(word) || is_in(vocabulary_.names, word) || is_type(vocabulary_, word) ||
        is_in(allowed_keywords(), word) || is_in(vocabulary_.qualifiers, word) || reason_against(word)) {
      report(one.name, "reserved-name", fmt::format("'{}' cannot be declared", word), "take another name");
    }
    declared_.insert(word);
  }

  static bool is_in(std::span<const std::string_view> words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }

  // Returns the last token it looked at.
  size_t check_word(size_t at) {
    const auto word = text(at);
    if (vocabulary_.language != "cpu" && is_mlx_trap(word))
      report(
          at,
          "reserved-name",
          fmt::format("'{}' would change the kernel's parameters", word),
          "take another name");
    if (before_is(at, ".")) {
      if (!is_in(vocabulary_.members, word))
        report(at, "unknown-name", fmt::format("'.{}' is not in the language", word));
      return at;
    }
    if (word == "__attribute__") return check_attribute(at);
    if (word == "alignas") check_alignment(at);
    if (before_is(at, "::")) return check_known(at), at;  // what stands before it was looked at
    if (!vocabulary_.scope.empty() && word == vocabulary_.scope) {
      if (!is(at + 1, "::")) report(at, "unknown-name", fmt::format("'{}' is a namespace", word));
      return at;
    }
    if (is_in(allowed_keywords(), word) || is_in(vocabulary_.qualifiers, word)) return at;
    check_known(at);
    return at;
  }

  void check_known(size_t at) {
    const auto word = text(at);
    const bool scoped = before_is(at, "::");
    const bool is_call = is(at + 1, "(");
    const auto* function = find_function(vocabulary_, word);
    if (!scoped && declared_.count(word)) {
      if (is_call && !functions_.count(word) && !function)
        report(at, "unknown-call", fmt::format("'{}' is not a function", word));
      return;
    }
    if (function) {
      const bool with_template = is(at + 1, "<") && function->templated;
      if (!is_call && !with_template)
        report(
            at, "unknown-name", fmt::format("'{}' is a function and is called: {}", word, function->usage));
      return;
    }
    if (is_type(vocabulary_, word) || is_in(vocabulary_.names, word)) return;
    if (!scoped && abi_.has(word)) {
      if (is_call) report(at, "unknown-call", fmt::format("'{}' is not a function", word));
      return;
    }
    report_unknown(at, word, is_call);
  }

  void report_unknown(size_t at, std::string_view word, bool is_call) {
    if (const char* reason = reason_against(word))
      return report(at, "not-allowed", fmt::format("'{}': {}", word, reason));
    if (!whole_ && !is_call) return;
    std::vector<std::string_view> candidates(declared_.begin(), declared_.end());
    std::sort(candidates.begin(), candidates.end());
    for (const auto& group : vocabulary_.functions)
      for (const auto& function : group.functions)
        candidates.push_back(function.name);
    for (const auto* names : {&abi_.inputs, &abi_.outputs, &abi_.pointers, &abi_.ranges, &abi_.constants})
      candidates.insert(candidates.end(), names->begin(), names->end());
    auto near = nearest_word(word, candidates);
    report(
        at,
        is_call ? "unknown-call" : "unknown-name",
        fmt::format("'{}' is neither declared here nor in the language", word),
        near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }

  // Only __attribute__((always_inline)).
  size_t check_attribute(size_t at) {
    if (is(at + 1, "(") && is(at + 2, "(") && is(at + 3, "always_inline") && is(at + 4, ")") &&
        is(at + 5, ")"))
      return at + 5;
    report(at, "not-allowed", "only __attribute__((always_inline)) is allowed");
    return is(at + 1, "(") ? match_[at + 1] : at;
  }

  void check_alignment(size_t at) {
    const bool is_number = is(at + 1, "(") && is(at + 3, ")") && tokens_[at + 2].kind == TokenKind::number;
    if (!is_number || text(at + 2).size() > 3 || text(at + 2) > (text(at + 2).size() == 3 ? "256" : "99"))
      report(at, "not-allowed", "alignas takes a number up to 256");
  }

  void check_punctuation(size_t at) {
    if (is(at, "[")) return check_bracket(at);
    if (is(at, "::") && !(at > 0 && !vocabulary_.scope.empty() && is(at - 1, vocabulary_.scope)))
      report(at, "not-allowed", "'::' reaches outside of the language");
    if (is(at, "->") && !before_is(at, ")"))
      report(at, "not-allowed", "there are no structures in the language, so no '->'");
  }

  // `[` after nothing that could be indexed begins an attribute or a lambda.
  void check_bracket(size_t at) {
    const bool is_inner = at > 0 && is(at - 1, "[") && match_[at - 1] == match_[at] + 1;
    if (is_inner) return;  // of an attribute, seen with the bracket before
    const bool indexes = at > 0 && (tokens_[at - 1].kind == TokenKind::word || is(at - 1, ")") ||
                                    is(at - 1, "]") || is(at - 1, "}"));
    if (is(at + 1, "[") && match_[at] == match_[at + 1] + 1) {
      if (!is_attribute(text(at + 2)) || match_[at + 1] != at + 3)
        return report(at, "not-allowed", "only the attributes likely, unlikely and maybe_unused are allowed");
      declared_.insert(text(at + 2));
    } else if (whole_ && (!indexes || is_keyword_before(at)) && !starts_function(at)) {
      report(at, "bad-lambda", "a function is declared alone: auto name = [&](long j, vf& sum) {...};");
    }
  }

  static bool is_attribute(std::string_view word) {
    return word == "likely" || word == "unlikely" || word == "maybe_unused";
  }
  bool is_keyword_before(size_t at) const { return is(at - 1, "return") || is(at - 1, "case"); }
  bool starts_function(size_t at) const {
    return at >= 2 && is(at - 1, "=") && functions_.count(text(at - 2));
  }

  const std::vector<Token>& tokens_;
  const std::vector<size_t>& match_;
  const Vocabulary& vocabulary_;
  const Abi& abi_;
  const bool whole_;
  Errors& errors_;
  Words declared_, functions_;
};

}  // namespace

void collect_declared(const Statement& statement, std::vector<const Declared*>& declared) {
  for (const auto& one : statement.declared)
    declared.push_back(&one);
  for (const auto& child : statement.children)
    collect_declared(child, declared);
}

void check_names(
    const Program& program, const Vocabulary& vocabulary, const Abi& abi, bool whole, Errors& errors) {
  NameCheck(program, vocabulary, abi, whole, errors).run();
}

}  // namespace autoperfect::code

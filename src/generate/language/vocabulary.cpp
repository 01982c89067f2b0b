#include "generate/language/vocabulary.h"

#include <algorithm>
#include <array>

#include "generate/language/vocabularies.h"
#include "support/result.h"

namespace autoperfect {

namespace {

constexpr std::string_view keywords[] = {"alignas",     "auto",
                                         "bool",        "break",
                                         "case",        "char",
                                         "const",       "constexpr",
                                         "continue",    "default",
                                         "do",          "double",
                                         "else",        "false",
                                         "float",       "for",
                                         "if",          "int",
                                         "long",        "return",
                                         "short",       "signed",
                                         "sizeof",      "static_assert",
                                         "static_cast", "reinterpret_cast",
                                         "switch",      "true",
                                         "unsigned",    "void",
                                         "while"};

}  // namespace

const Vocabulary& vocabulary(std::string_view language) {
  for (const auto* known : {&cpu_vocabulary(), &cuda_vocabulary(), &metal_vocabulary()}) {
    if (known->language == language) return *known;
  }
  throw InternalError("no vocabulary of language " + std::string(language));
}

const Function* find_function(const Vocabulary& vocabulary, std::string_view name) {
  for (const auto& group : vocabulary.functions) {
    for (const auto& function : group.functions) {
      if (function.name == name) return &function;
    }
  }
  return nullptr;
}

bool is_type(const Vocabulary& vocabulary, std::string_view word) {
  return std::find(vocabulary.types.begin(), vocabulary.types.end(), word) != vocabulary.types.end();
}

std::span<const std::string_view> allowed_keywords() {
  return keywords;
}

}  // namespace autoperfect

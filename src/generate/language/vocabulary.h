// What a draft may name, language by language: one table for the prompt, which prints it, and for the check,
// which allows nothing else.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace autoperfect {

struct Function {
  std::string_view name;
  std::string_view usage;     // as the prompt prints it
  double cost = 1;            // vector instructions, each as fast as an FMA
  std::string_view ulp = {};  // greatest error found; empty: exact or correctly rounded
  int written = -1;           // the argument through which it stores
  bool templated = false;     // called as name<...>(...)
  bool changes = false;       // takes arguments by reference
};

// Functions that a prompt prints under one heading.
struct FunctionGroup {
  std::string_view heading;
  std::span<const Function> functions;
};

struct Vocabulary {
  std::string_view language;
  std::span<const FunctionGroup> functions;
  std::span<const std::string_view> types;
  std::span<const std::string_view> qualifiers;  // words a declaration may begin with beside types
  std::span<const std::string_view> names;       // variables and constants the language has
  std::span<const std::string_view> members;     // what may stand after a dot
  std::string_view scope;                        // what may stand before `::`
};

// Of "cpu", "cuda" and "metal", which are written in C++.
const Vocabulary& vocabulary(std::string_view language);

const Function* find_function(const Vocabulary& vocabulary, std::string_view name);
bool is_type(const Vocabulary& vocabulary, std::string_view word);

// Keywords that are allowed everywhere: `if`, `for`, `const`...
std::span<const std::string_view> allowed_keywords();

// Functions of mlx.core that the language `mlx` has, by name.
std::span<const std::string_view> mlx_functions();

}  // namespace autoperfect

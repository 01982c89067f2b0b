// What the control of a draft depends on. A place that constants alone decide goes the same way in every run,
// so no input could show another; one that sizes decide differs by shape and chunk; all else may differ by
// data. Conservative: what is not understood is data.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "check/abi.h"
#include "check/parser.h"

namespace autoperfect::code {

enum class Level : uint8_t { constant, size, data };

class Flow {
 public:
  Flow(const Program& program, const Vocabulary& vocabulary, const Abi& abi);

  Level level(Range range) const;

  // From the innermost declaration that is seen at a token to where that ends; null: not declared in the
  // draft.
  const Range* declaration_of(size_t at) const;

 private:
  // A statement that decides whether what is in it runs.
  struct Control {
    Range range;
    Level level;
  };
  struct Function {
    Range range;
    std::vector<const Declared*> parameters;
  };

  void collect(const Statement& statement, Range scope);
  Level walk(const Statement& statement);
  Level walk_children(const Statement& statement);
  void walk_declared(const Statement& statement);
  void walk_expression(Range range);
  void assign(size_t at, Level level);
  void assign_all(Range range, Level level);
  void assign_name(size_t at, Level level);
  void call(size_t at, Range expression);
  std::vector<Range> arguments(Range inside) const;
  bool is_computed(Range argument) const;
  void raise(std::string_view name, Level level);
  Level level_of(size_t at) const;
  Level control_of(size_t at) const;
  std::string_view text(size_t at) const { return program_.tokens[at].text; }
  bool is(size_t at, std::string_view wanted) const { return program_.tokens[at].is(wanted); }
  bool is_operand_end(size_t at) const;

  const Program& program_;
  const Vocabulary& vocabulary_;
  const Abi& abi_;
  std::unordered_map<std::string_view, Level> names_;
  std::unordered_map<std::string_view, std::vector<Range>> scopes_;  // from a declaration to where it ends
  std::unordered_map<std::string_view, Function> functions_;
  std::unordered_map<const Statement*, Level> exits_;  // of loops: what decides their breaks
  std::vector<Control> controls_;                      // around what is being walked
  const Function* inside_ = nullptr;                   // the function being walked
  bool changed_ = false;
};

// `=`, `+=`...
bool is_assignment(const Token& token);

}  // namespace autoperfect::code

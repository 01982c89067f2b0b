// Expected failures are values: a Result<T> holds a T or the Diagnostics that say why there is none.
// Bugs of ours throw InternalError, a caller's misuse std::invalid_argument in MLX's form ("[stage]
// message").
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace autoperfect {

// A place in a text, 1-based; line 0 means no place. `length` columns are underlined.
struct Where {
  int line = 0;
  int column = 0;
  int length = 1;
};

struct Diagnostic {
  std::string stage;    // folder name: "ir", "compile", "gate"...
  std::string code;     // short, stable, kebab-case: "unknown-op"
  std::string message;  // one sentence, no trailing period
  Where where = {};
  std::string hint = {};  // what to do about it; may be empty
};

// "stage: error[code]: message", then the source line with a caret when `source` holds it, then the hint.
std::string format(const Diagnostic& diagnostic, const std::string& source = "");
std::string format(const std::vector<Diagnostic>& diagnostics, const std::string& source = "");

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Diagnostic diagnostic) : state_(std::vector<Diagnostic>{std::move(diagnostic)}) {}
  Result(std::vector<Diagnostic> diagnostics) : state_(std::move(diagnostics)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& { return std::get<0>(state_); }
  T& value() & { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const std::vector<Diagnostic>& errors() const { return std::get<1>(state_); }

 private:
  std::variant<T, std::vector<Diagnostic>> state_;
};

struct Success {};
using Status = Result<Success>;

}  // namespace autoperfect

#include "generate/size_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/characters.h"

namespace autoperfect {

namespace {

constexpr int deepest = 32;

class Evaluator {
 public:
  Evaluator(std::string_view text, const SizeOf& size_of) : text_(text), size_of_(size_of) {}

  SizeValue run() {
    auto value = sum();
    if (value && (skip_blanks(), !text_.empty())) value = fail(fmt::format("'{}' is not expected", text_));
    return {value, problem_};
  }

 private:
  using Value = std::optional<int64_t>;

  std::nullopt_t fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return std::nullopt;
  }
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r"), text_.size())); }
  bool take(char c) {
    skip_blanks();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    skip_blanks();
    auto end = std::find_if_not(text_.begin(), text_.end(), is_word);
    auto found = text_.substr(0, static_cast<size_t>(end - text_.begin()));
    text_.remove_prefix(found.size());
    return found;
  }

  Value combine(char op, Value a, Value b) {
    if (!a || !b) return std::nullopt;
    int64_t result = 0;
    if (op == '/' || op == '%') {
      if (*b <= 0) return fail("a divisor is not positive");
      return op == '/' ? *a / *b : *a % *b;
    }
    const bool overflows = op == '+'   ? __builtin_add_overflow(*a, *b, &result)
                           : op == '-' ? __builtin_sub_overflow(*a, *b, &result)
                                       : __builtin_mul_overflow(*a, *b, &result);
    return overflows ? Value(fail("the number does not fit 64 bits")) : result;
  }

  Value sum() {
    auto value = product();
    for (;;) {
      if (take('+')) {
        value = combine('+', value, product());
      } else if (take('-')) {
        value = combine('-', value, product());
      } else {
        return value;
      }
    }
  }

  Value product() {
    auto value = factor();
    for (;;) {
      if (take('*')) {
        value = combine('*', value, factor());
      } else if (take('/')) {
        value = combine('/', value, factor());
      } else if (take('%')) {
        value = combine('%', value, factor());
      } else {
        return value;
      }
    }
  }

  Value factor() {
    if (++depth_ > deepest) return fail("the expression is nested too deep");
    auto value = factor_within();
    --depth_;
    return value;
  }

  Value factor_within() {
    if (take('(')) {
      auto value = sum();
      return value && !take(')') ? Value(fail("')' is missing")) : value;
    }
    auto name = word();
    if (name.empty()) return fail("a number or a size is missing");
    if (name[0] >= '0' && name[0] <= '9') return number(name);
    if (take('(')) return call(name);
    auto size = size_of_(name);
    return size ? size : Value(fail(fmt::format("'{}' is not a size", name)));
  }

  Value number(std::string_view digits) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      return fail(fmt::format("'{}' is not a whole number", digits));
    return value;
  }

  Value call(std::string_view name) {
    auto a = sum();
    if (a && !take(',')) return fail("a second argument is missing");
    auto b = a ? sum() : std::nullopt;
    if (!a || !b) return std::nullopt;
    if (!take(')')) return fail("')' is missing");
    if (name == "min") return std::min(*a, *b);
    if (name == "max") return std::max(*a, *b);
    if (name != "ceil_div") return fail(fmt::format("'{}' is not ceil_div, min or max", name));
    return combine('/', combine('+', a, combine('-', b, 1)), b);
  }

  std::string_view text_;
  const SizeOf& size_of_;
  std::string problem_;
  int depth_ = 0;
};

}  // namespace

SizeValue evaluate_size(std::string_view expression, const SizeOf& size_of) {
  return Evaluator(expression, size_of).run();
}

}  // namespace autoperfect

#include "support/number.h"

#include <charconv>
#include <cmath>

namespace autoperfect {

namespace {

template <class Float>
std::string shortest(Float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string format_number(double value) {
  return shortest(value);
}
std::string format_single(float value) {
  return shortest(value);
}

std::optional<double> parse_number(std::string_view text) {
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  // from_chars also reads other spellings of infinity and NaN; the two IRs have one.
  if (text.empty() || text.find_first_not_of("+-.0123456789eE") != std::string_view::npos)
    return std::nullopt;
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_python_float(std::string_view text) {
  double value = 0;
  const char *begin = text.data(), *end = begin + text.size();
  const auto [last, error] = std::from_chars(begin, end, value);
  if (error == std::errc::invalid_argument || last != end) return std::nullopt;
  if (error == std::errc{}) return value;
  // Out of the range of double, which from_chars does not tell from below it: the wider type does.
  long double wide = 0;
  if (std::from_chars(begin, end, wide).ec == std::errc{}) return static_cast<double>(wide);
  const auto exponent = text.find_first_of("eE");
  const bool is_tiny = exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-');
  return std::copysign(is_tiny ? 0.0 : HUGE_VAL, text.starts_with('-') ? -1.0 : 1.0);
}

}  // namespace autoperfect

// What characters identifiers are made of, in every text that is read: ASCII only, whatever the locale.
#pragma once

namespace autoperfect {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_word(char c) {
  return is_letter(c) || is_digit(c);
}

}  // namespace autoperfect

#include "ir/identifier.h"

#include <algorithm>

#include "support/characters.h"

namespace autoperfect {

namespace {

constexpr size_t longest = 64;

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_word);
}

bool is_value_name(std::string_view text) {
  return is_identifier(text) || (!text.empty() && std::all_of(text.begin(), text.end(), is_digit));
}

std::string to_identifier(std::string_view text) {
  std::string name(text.substr(0, longest));
  for (auto& c : name) {
    if (!is_word(c)) c = '_';
  }
  if (name.empty() || is_digit(name[0])) name.insert(0, "_");
  return name;
}

}  // namespace autoperfect

// Names of values, graphs, axes and buffers in both texts.
#pragma once

#include <string>
#include <string_view>

namespace autoperfect {

// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);
// An identifier or digits, as in %x and %12.
bool is_value_name(std::string_view text);

// The nearest identifier to any text: names come from users' programs and may hold anything.
std::string to_identifier(std::string_view text);

}  // namespace autoperfect

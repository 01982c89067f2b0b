// "Did you mean...": the known word nearest to one that was not found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autoperfect {

// Empty when nothing is near enough to be worth suggesting.
std::string nearest_word(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace autoperfect

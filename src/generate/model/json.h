// JSON from strangers: size, UTF-8 and nesting are checked before anything is built.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace autoperfect {

constexpr int deepest_json = 64;

// None when it is not JSON in UTF-8, or nested deeper than deepest_json.
std::optional<nlohmann::json> parse_json(std::string_view text);

// The member when `object` is one that has it with the type asked for; otherwise what is empty of that type.
const nlohmann::json& member(const nlohmann::json& object, const char* name);  // null when absent
std::string string_member(const nlohmann::json& object, const char* name);
int64_t count_member(const nlohmann::json& object, const char* name);  // a whole number from 0 on, else 0

bool is_utf8(std::string_view text);

}  // namespace autoperfect

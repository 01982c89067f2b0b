#include "generate/model/json.h"

#include <algorithm>

namespace autoperfect {

namespace {

// Most brackets open at once, those in strings left out.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// Bytes that follow a first byte and the range of the first of them: overlong forms, surrogates and code
// points beyond the last have none.
struct Sequence {
  int length = -1;
  unsigned char low = 0x80, high = 0xbf;
};

Sequence sequence_of(unsigned char first) {
  if (first < 0x80) return {0};
  if (first >= 0xc2 && first <= 0xdf) return {1};
  if (first == 0xe0) return {2, 0xa0, 0xbf};
  if (first == 0xed) return {2, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {2};
  if (first == 0xf0) return {3, 0x90, 0xbf};
  if (first >= 0xf1 && first <= 0xf3) return {3};
  if (first == 0xf4) return {3, 0x80, 0x8f};
  return {};
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    auto sequence = sequence_of(static_cast<unsigned char>(text[i]));
    if (sequence.length < 0 || text.size() - i <= static_cast<size_t>(sequence.length)) return false;
    for (int k = 0; k < sequence.length; ++k) {
      auto c = static_cast<unsigned char>(text[++i]);
      if (k == 0 ? c < sequence.low || c > sequence.high : c < 0x80 || c > 0xbf) return false;
    }
  }
  return true;
}

std::optional<nlohmann::json> parse_json(std::string_view text) {
  if (depth_of(text) > deepest_json) return std::nullopt;
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return std::nullopt;
  return parsed;
}

const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json absent;
  if (!object.is_object()) return absent;
  auto found = object.find(name);
  return found == object.end() ? absent : *found;
}

std::string string_member(const nlohmann::json& object, const char* name) {
  const auto& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

int64_t count_member(const nlohmann::json& object, const char* name) {
  const auto& value = member(object, name);
  return value.is_number_integer() ? std::clamp<int64_t>(value.get<int64_t>(), 0, int64_t{1} << 40) : 0;
}

}  // namespace autoperfect

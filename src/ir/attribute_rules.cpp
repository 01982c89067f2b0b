#include "ir/attribute_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/spelling.h"

namespace autoperfect {

namespace {

// In the order of the alternatives of AttributeValue; `constant` stands for a bool, a number or a list of
// numbers.
enum class Kind : uint8_t { boolean, integer, number, string, integers, numbers, dtype, constant };

constexpr std::pair<std::string_view, Kind> kind_words[] = {
    {"bool", Kind::boolean},
    {"int", Kind::integer},
    {"number", Kind::number},
    {"string", Kind::string},
    {"ints", Kind::integers},
    {"numbers", Kind::numbers},
    {"dtype", Kind::dtype},
    {"constant", Kind::constant},
};

struct Rule {
  std::string name;
  Kind kind;
  bool required;
  bool from_type;
};

// "axes:ints keepdims:bool? shape:ints=type", as ops.def spells it.
std::vector<Rule> parse_rules(std::string_view text) {
  std::vector<Rule> rules;
  while (!text.empty()) {
    auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    auto take = [&word](std::string_view suffix) {
      bool found = word.ends_with(suffix);
      if (found) word.remove_suffix(suffix.size());
      return found;
    };
    bool from_type = take("=type");
    bool required = !take("?");
    auto colon = word.find(':');
    auto kind = std::find_if(std::begin(kind_words), std::end(kind_words), [&](const auto& known) {
      return colon != word.npos && known.first == word.substr(colon + 1);
    });
    if (kind == std::end(kind_words)) throw InternalError("[ir] ops.def: '" + std::string(word) + "'");
    rules.push_back({std::string(word.substr(0, colon)), kind->second, required, from_type});
  }
  return rules;
}

const std::vector<Rule>& rules_of(Op op) {
  static const auto all = [] {
    std::vector<std::vector<Rule>> table;
    for (auto each : all_ops())
      table.push_back(parse_rules(attribute_text(each)));
    return table;
  }();
  return all[static_cast<size_t>(op)];
}

bool has_kind(const AttributeValue& value, Kind kind) {
  auto actual = static_cast<Kind>(value.index());
  if (kind == Kind::constant) return actual != Kind::string && actual != Kind::dtype;
  return actual == kind;
}

const char* describe(Kind kind) {
  switch (kind) {
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "an integer";
    case Kind::number:
      return "a number with a point, such as 1.0";
    case Kind::string:
      return "a quoted string";
    case Kind::integers:
      return "a list of integers, such as [0, 1]";
    case Kind::numbers:
      return "a list of numbers, such as [0.5, 1.0]";
    case Kind::dtype:
      return "a dtype";
    case Kind::constant:
      return "a number or a list of numbers";
  }
  return "";
}

Diagnostic unknown_attribute(Op op, const std::string& attribute) {
  std::vector<std::string_view> known;
  for (const auto& rule : rules_of(op))
    known.push_back(rule.name);
  auto hint = known.empty() ? fmt::format("'{}' has none", name(op))
                            : fmt::format("it has: {}", fmt::join(known, ", "));
  return {
      "ir", "unknown-attribute", fmt::format("'{}' has no attribute '{}'", name(op), attribute), {}, hint};
}

}  // namespace

std::vector<Diagnostic> check_attributes(Op op, const Attributes& attributes) {
  std::vector<Diagnostic> found;
  size_t known = 0;
  for (const auto& rule : rules_of(op)) {
    auto* value = attributes.find(rule.name);
    if (!value) {
      if (!rule.required) continue;
      auto message = fmt::format("'{}' lacks its attribute '{}'", name(op), rule.name);
      found.push_back({"ir", "missing-attribute", message, {}, fmt::format("it is {}", describe(rule.kind))});
      continue;
    }
    ++known;
    if (has_kind(*value, rule.kind)) continue;
    auto message = fmt::format("attribute '{}' of '{}' is not {}", rule.name, name(op), describe(rule.kind));
    found.push_back({"ir", "attribute-type", message});
  }
  auto count = static_cast<size_t>(std::distance(attributes.begin(), attributes.end()));
  if (known == count || needs_its_primitive(op)) return found;  // it may carry whatever its primitive needs
  for (const auto& [attribute, value] : attributes) {
    bool is_known = false;
    for (const auto& rule : rules_of(op))
      is_known |= rule.name == attribute;
    if (!is_known) found.push_back(unknown_attribute(op, attribute));
  }
  return found;
}

FromType attributes_from_type(Op op) {
  auto from = FromType::none;
  for (const auto& rule : rules_of(op)) {
    if (!rule.from_type) continue;
    from = from | (rule.name == "dtype"  ? FromType::dtype
                   : rule.name == "size" ? FromType::size
                                         : FromType::shape);
  }
  return from;
}

}  // namespace autoperfect

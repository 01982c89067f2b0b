#include "ir/attribute_rules.h"

#include <fmt/format.h>

#include "support/spelling.h"

namespace autoperfect {

namespace {

// In the order of the alternatives of AttributeValue; `constant` stands for a bool, a number or a list of
// numbers.
enum class Kind : uint8_t { boolean, integer, number, string, integers, numbers, dtype, constant };

struct Rule {
  Op op;
  std::string_view name;
  Kind kind;
  bool required;
};

constexpr Rule rules[] = {
    {Op::constant, "value", Kind::constant, true},  {Op::constant, "dtype", Kind::dtype, true},
    {Op::constant, "shape", Kind::integers, false}, {Op::full, "shape", Kind::integers, true},
    {Op::arange, "start", Kind::number, true},      {Op::arange, "step", Kind::number, true},
    {Op::arange, "size", Kind::integer, true},      {Op::arange, "dtype", Kind::dtype, true},
    {Op::cast, "dtype", Kind::dtype, true},         {Op::equal, "nan_equal", Kind::boolean, false},
    {Op::sum, "axes", Kind::integers, true},        {Op::sum, "keepdims", Kind::boolean, false},
    {Op::prod, "axes", Kind::integers, true},       {Op::prod, "keepdims", Kind::boolean, false},
    {Op::max, "axes", Kind::integers, true},        {Op::max, "keepdims", Kind::boolean, false},
    {Op::min, "axes", Kind::integers, true},        {Op::min, "keepdims", Kind::boolean, false},
    {Op::any, "axes", Kind::integers, true},        {Op::any, "keepdims", Kind::boolean, false},
    {Op::all, "axes", Kind::integers, true},        {Op::all, "keepdims", Kind::boolean, false},
    {Op::argmax, "axis", Kind::integer, true},      {Op::argmax, "keepdims", Kind::boolean, false},
    {Op::argmin, "axis", Kind::integer, true},      {Op::argmin, "keepdims", Kind::boolean, false},
    {Op::softmax, "precise", Kind::boolean, false}, {Op::mean, "axes", Kind::integers, true},
    {Op::mean, "keepdims", Kind::boolean, false},   {Op::var, "axes", Kind::integers, true},
    {Op::var, "ddof", Kind::integer, false},        {Op::var, "keepdims", Kind::boolean, false},
    {Op::std, "axes", Kind::integers, true},        {Op::std, "ddof", Kind::integer, false},
    {Op::std, "keepdims", Kind::boolean, false},    {Op::broadcast, "shape", Kind::integers, true},
    {Op::reshape, "shape", Kind::integers, true},   {Op::transpose, "axes", Kind::integers, true},
    {Op::slice, "start", Kind::integers, true},     {Op::slice, "stop", Kind::integers, true},
    {Op::slice, "strides", Kind::integers, true},   {Op::concatenate, "axis", Kind::integer, true},
    {Op::gather_axis, "axis", Kind::integer, true}, {Op::opaque, "primitive", Kind::string, true},
    {Op::opaque, "key", Kind::integer, true},
};

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
  for (const auto& rule : rules) {
    if (rule.op == op) known.push_back(rule.name);
  }
  auto hint = known.empty() ? fmt::format("'{}' has none", name(op))
                            : fmt::format("it has: {}", fmt::join(known, ", "));
  return {
      "ir", "unknown-attribute", fmt::format("'{}' has no attribute '{}'", name(op), attribute), {}, hint};
}

}  // namespace

std::vector<Diagnostic> check_attributes(Op op, const Attributes& attributes) {
  std::vector<Diagnostic> found;
  size_t known = 0;
  for (const auto& rule : rules) {
    if (rule.op != op) continue;
    auto* value = attributes.find(std::string(rule.name));
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
  if (known == count || op == Op::opaque)
    return found;  // an opaque op may carry whatever its primitive needs
  for (const auto& [attribute, value] : attributes) {
    bool is_known = false;
    for (const auto& rule : rules)
      is_known |= rule.op == op && rule.name == attribute;
    if (!is_known) found.push_back(unknown_attribute(op, attribute));
  }
  return found;
}

FromType attributes_from_type(Op op) {
  switch (op) {
    case Op::constant:
      return FromType::dtype | FromType::shape;
    case Op::arange:
      return FromType::dtype | FromType::size;
    case Op::cast:
      return FromType::dtype;
    case Op::full:
    case Op::broadcast:
    case Op::reshape:
      return FromType::shape;
    default:
      return FromType::none;
  }
}

}  // namespace autoperfect

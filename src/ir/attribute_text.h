// Types and attributes as all texts of ours spell them.
#pragma once

#include <optional>
#include <string>

#include "ir/attribute.h"
#include "ir/graph.h"
#include "ir/text_lexer.h"

namespace autoperfect {

// Parsers return nothing after they reported why.
std::optional<Dtype> parse_dtype(TextReader& reader);
std::optional<TensorType> parse_type(TextReader& reader);  // f32[4,8]
std::optional<AttributeValue> parse_attribute_value(TextReader& reader);
bool parse_attributes(TextReader& reader, Attributes& attributes);  // name=value name=value, up to a ':'
std::optional<double> parse_double(TextReader& reader);             // also inf, nan and integers

void append(std::string& out, const AttributeValue& value);
void append_attributes(std::string& out, const Attributes& attributes);  // each with a space before it

// "autoperfect.<what> 1" at the start of a text.
bool parse_header(TextReader& reader, std::string_view what);

}  // namespace autoperfect

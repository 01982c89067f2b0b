// Numbers as both IRs print them: shortest text that reads back to the same bits, always with '.', 'e', inf
// or nan for floating point (so `1.0` is a double and `1` an integer), `-0.0` spelled.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autoperfect {

std::string format_number(double value);
std::string format_single(float value);  // the shortest that reads back to the same float
std::optional<double> parse_number(std::string_view text);

// A decimal number as Python reads it: infinite beyond the largest double, zero below the smallest.
std::optional<double> parse_python_float(std::string_view text);

}  // namespace autoperfect

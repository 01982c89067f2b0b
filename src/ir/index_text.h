// Axes and affine indices as KernelIR spells them: [i,j], [2*j+1,0].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/kernel.h"
#include "ir/text_lexer.h"

namespace autoperfect {

using AxesByName = std::unordered_map<std::string_view, AxisId>;

// Parsers return nothing after they reported why.
std::optional<AxisId> parse_axis(TextReader& reader, const AxesByName& axes);
std::optional<Affine> parse_affine(TextReader& reader, const AxesByName& axes);  // 2*j+k-1, up to ',' or ']'
std::optional<std::vector<Affine>> parse_index(TextReader& reader, const AxesByName& axes);

void append_axes(
    std::string& out,
    const std::vector<AxisId>& axes,
    const std::vector<std::string>& names);  // i,j
void append_affine(std::string& out, const Affine& affine, const std::vector<std::string>& names);
void append_index(std::string& out, const std::vector<Affine>& index, const std::vector<std::string>& names);

}  // namespace autoperfect

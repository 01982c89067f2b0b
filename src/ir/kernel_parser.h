// The parts of parse_kernel(): one state, and a parser for a line of each block. Each returns false after it
// reported what is wrong, or when that was reported already; the line is then skipped.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/index_text.h"
#include "ir/kernel.h"
#include "ir/text_lexer.h"

namespace autoperfect::kernel_parser {

// A value or buffer whose own line was in error: lines that use it are skipped without a second report.
constexpr KernelValueId poisoned = -2;

// `?i` in a buffer, before the axes are known.
struct DynamicDimension {
  BufferId buffer = -1;
  int dimension = 0;
  Token axis;
};

struct State {
  TextReader reader;
  Kernel kernel;
  std::unordered_map<std::string_view, BufferId> buffers;
  std::unordered_map<std::string_view, KernelValueId> values;
  AxesByName axes;
  bool axes_in_error = false;
  std::vector<DynamicDimension> dynamic_dimensions;
};

std::optional<int64_t> parse_size(TextReader& reader);

bool parse_buffer(State& state);                        // in %x: f32[?i,1024] row
bool parse_axes(State& state);                          // axes i=?4096, j=1024
bool parse_statement(State& state);                     // %total[i] = sum(j) %x[i,j] : f32
bool parse_operands(State& state, KernelValue& value);  // %x[i,j-2] else 0.0, %table[%id[i],j], 0.5
bool parse_numerics(State& state);                      // accumulate f32

// An index that consists of axes, as those of values do.
bool as_axes(
    TextReader& reader, const std::vector<Affine>& index, const Where& where, std::vector<AxisId>& axes);

void resolve_dynamic_dimensions(State& state);

}  // namespace autoperfect::kernel_parser

#include "ir/attribute_text.h"
#include "ir/kernel_parser.h"
#include "ir/kernel_text.h"

namespace autoperfect {

namespace kernel_parser {
namespace {

bool parse_name(State& state) {
  auto& reader = state.reader;
  reader.skip_blank_lines();
  if (!reader.expect("kernel")) return false;
  auto name = reader.expect(TokenKind::symbol, "the kernel's name, such as @region");
  if (!name) return false;
  state.kernel.name = name->text;
  state.kernel.where = name->where;
  return reader.expect("{") && reader.expect_end_of_line();
}

// Lines up to the closing brace; a line in error is skipped.
bool parse_block(State& state, std::string_view title, bool (*parse_line)(State&)) {
  auto& reader = state.reader;
  reader.skip_blank_lines();
  if (!reader.expect(title) || !reader.expect("{") || !reader.expect_end_of_line()) return false;
  for (reader.skip_blank_lines(); !reader.take("}"); reader.skip_blank_lines()) {
    if (reader.at(TokenKind::end_of_text)) {
      reader.report_unexpected("'}'");
      return false;
    }
    if (!parse_line(state) || !reader.expect_end_of_line()) reader.skip_line();
  }
  return reader.expect_end_of_line();
}

bool parse_math_line(State& state) {
  return state.reader.at("axes") ? parse_axes(state) : parse_statement(state);
}

void parse_end(TextReader& reader) {
  reader.skip_blank_lines();
  if (!reader.expect("}")) return;
  reader.skip_blank_lines();
  if (!reader.at(TokenKind::end_of_text)) reader.report_unexpected("nothing after the kernel");
}

bool parse_budget(State& state) {
  auto& numerics = state.kernel.numerics;
  const std::pair<std::string_view, double*> fields[] = {
      {"ulp", &numerics.ulp}, {"abs", &numerics.abs}, {"rel", &numerics.rel}};
  for (const auto& [name, field] : fields) {
    if (!state.reader.expect(name) || !state.reader.expect("=")) return false;
    auto number = parse_double(state.reader);
    if (!number) return false;
    *field = *number;
  }
  return true;
}

}  // namespace

std::optional<int64_t> parse_size(TextReader& reader) {
  auto token = reader.expect(TokenKind::number, "a size");
  if (!token) return std::nullopt;
  auto size = to_int64(token->text);
  if (size && *size >= 0) return size;
  reader.report("bad-size", "'" + std::string(token->text) + "' is not a size", token->where);
  return std::nullopt;
}

bool parse_numerics(State& state) {
  auto& reader = state.reader;
  auto where = reader.peek().where;
  if (reader.take("accumulate")) {
    state.kernel.accumulate_where = where;
    auto dtype = parse_dtype(reader);
    if (dtype) state.kernel.numerics.accumulate = *dtype;
    return dtype.has_value();
  }
  for (auto [name, field] :
       {std::pair("reassociate", &Numerics::reassociate), std::pair("wide", &Numerics::wide)}) {
    if (!reader.take(name)) continue;
    if (name == std::string_view("wide")) state.kernel.wide_where = where;
    state.kernel.numerics.*field = reader.at("yes");
    if (reader.take("yes") || reader.take("no")) return true;
    reader.report_unexpected("'yes' or 'no'");
    return false;
  }
  if (reader.take("budget")) {
    state.kernel.budget_where = where;
    return parse_budget(state);
  }
  reader.report_unexpected("'accumulate', 'reassociate', 'wide', 'budget' or '}'");
  return false;
}

}  // namespace kernel_parser

Result<Kernel> parse_kernel(const std::string& text) {
  using namespace kernel_parser;
  State state{TextReader(text, "ir"), {}, {}, {}, {}, false, {}};
  bool complete = parse_header(state.reader, "kernel") && parse_name(state) &&
                  parse_block(state, "abi", parse_buffer) && parse_block(state, "math", parse_math_line) &&
                  parse_block(state, "numerics", parse_numerics);
  if (complete) parse_end(state.reader);
  resolve_dynamic_dimensions(state);
  // What was read is verified even when some lines failed, so that one run finds every error. But an output
  // may lack a store because the line of the store was in error.
  auto broken = verify(state.kernel);
  if (state.reader.has_errors())
    std::erase_if(
        broken, [](const auto& d) { return d.code == "not-stored" || d.code == "incomplete-store"; });
  auto errors = state.reader.take_errors(std::move(broken));
  if (!errors.empty()) return errors;
  return std::move(state.kernel);
}

}  // namespace autoperfect

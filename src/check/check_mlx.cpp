// Drafts of MLX calls, one assignment a line: read into a graph, never executed.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check/arms.h"
#include "check/errors.h"
#include "check/languages.h"
#include "check/lexer.h"
#include "generate/language/vocabulary.h"
#include "ir/kernel_text.h"
#include "ir/shape.h"
#include "ir/text_lexer.h"
#include "lower/clipped_index.h"
#include "lower/lower.h"
#include "lower/mlx_names.h"
#include "support/spelling.h"

namespace autoperfect::code {

namespace {

constexpr int deepest = 40;               // brackets within brackets
constexpr size_t most_lines = 500;        // assignments
constexpr int64_t least_room = 64 << 20;  // bytes of values a graph may always have

class MlxCheck {
 public:
  MlxCheck(const Kernel& kernel, const Draft& draft)
      : original_(kernel), kernel_(with_neutral_names(kernel)), text_(draft.source) {}

  Result<Checked> run(const Target& target) {
    if (!is_text(text_, errors_)) return errors_.take();
    remove_comments();
    look_at_words();
    auto graph = parse_mlx_python(program());
    if (!graph) take_errors(graph.errors());
    if (graph) check_graph(*graph);
    if (!errors_.empty()) return errors_.take();
    return finished(std::move(*graph), target);
  }

 private:
  // Comments of Python, as long as the line is.
  void remove_comments() {
    bool inside = false;
    for (auto& c : text_) {
      if (c == '\n') inside = false;
      if (c == '#') inside = true;
      if (inside) c = ' ';
    }
  }

  // The draft as the body of a function.
  std::string program() const {
    std::vector<std::string> parameters, results;
    for (const auto& buffer : kernel_.buffers) {
      if (buffer.role == BufferRole::in) {
        parameters.push_back(fmt::format("{}: \"{}\"", buffer.name, to_string(buffer.type)));
      } else if (buffer.role == BufferRole::out) {
        results.push_back(buffer.name);
      }
    }
    return fmt::format(
        "def region({}):\n{}\nreturn {}\n", fmt::join(parameters, ", "), text_, fmt::join(results, ", "));
  }

  // What parse_mlx_python() would refuse for reasons of its own gets the reason of the language.
  void look_at_words() {
    TextReader reader(text_, "check");
    int depth = 0;
    std::string_view before;
    size_t lines = 0;
    while (!reader.at(autoperfect::TokenKind::end_of_text)) {
      auto token = reader.next();
      if (token.text == "(" || token.text == "[") ++depth;
      if (token.text == ")" || token.text == "]") --depth;
      if (depth > deepest) return errors_.add("too-deep", "brackets are nested too deep", token.where);
      if (token.kind == autoperfect::TokenKind::end_of_line && ++lines > most_lines)
        return errors_.add("too-large", fmt::format("{} lines are allowed", most_lines), token.where);
      if (token.kind == autoperfect::TokenKind::word) look_at_word(token, before, reader);
      if (token.kind == autoperfect::TokenKind::string)
        errors_.add("text-literal", "literals of text are not allowed", token.where);
      before = token.kind == autoperfect::TokenKind::end_of_line ? "" : token.text;
    }
  }

  void look_at_word(const autoperfect::Token& token, std::string_view before, TextReader& reader) {
    constexpr std::string_view statements[] = {
        "def",   "import", "from", "for",  "while",  "if",    "else",   "elif",  "lambda", "with", "try",
        "class", "return", "exec", "eval", "global", "print", "assert", "raise", "yield",  "async"};
    if (std::find(std::begin(statements), std::end(statements), token.text) != std::end(statements))
      return errors_.add(
          "not-allowed",
          fmt::format("'{}': a draft is nothing but assignments", token.text),
          token.where,
          "write name = mx.function(...), and the results as out0, out1, ...");
    if (token.text == "nn" && reader.at("."))
      return errors_.add("high-level-call", "'nn' is not in the language", token.where, "write the formula");
    if (token.text != "mx" || before == "." || !reader.take(".")) return;
    const auto name = reader.peek();
    if (name.kind == autoperfect::TokenKind::word) look_at_function(name);
  }

  void look_at_function(const autoperfect::Token& name) {
    const auto functions = mlx_functions();
    if (std::find(functions.begin(), functions.end(), name.text) != functions.end()) return;
    if (name.text == "inf" || name.text == "nan" || dtype_of_mlx(name.text)) return;
    constexpr std::string_view makes[] = {
        "array", "zeros", "ones", "full", "empty", "eye", "zeros_like", "ones_like"};
    if (std::find(std::begin(makes), std::end(makes), name.text) != std::end(makes))
      return errors_.add(
          "allocation",
          fmt::format("mx.{}: nothing is allocated", name.text),
          name.where,
          "write numbers where they are used; they take the dtype beside them");
    const bool is_module =
        name.text == "fast" || name.text == "linalg" || name.text == "random" || name.text == "fft";
    auto near = is_module ? "" : nearest_word(name.text, {functions.begin(), functions.end()});
    errors_.add(
        "high-level-call",
        fmt::format("mx.{} is not in the language", name.text),
        name.where,
        near.empty() ? "write the formula" : fmt::format("did you mean mx.{}?", near));
  }

  // Those of the line we add say which output is missing.
  void take_errors(const std::vector<Diagnostic>& found) {
    const auto last = static_cast<int>(std::count(text_.begin(), text_.end(), '\n')) + 3;
    const Errors own = errors_;
    for (auto error : found) {
      if (error.where.line == last) {
        errors_.add("output-not-written", error.message, {1, 1, 1}, "assign each output by its name");
        continue;
      }
      if (error.where.line > 1) error.where.line -= 1;
      if (own.has_line(error.where.line)) continue;
      errors_.add(error.code, error.message, error.where, error.hint);
    }
  }

  void check_graph(const Graph& graph) {
    int64_t bytes = 0;
    for (const auto& buffer : kernel_.buffers)
      bytes += buffer.type.bytes();
    const int64_t most = std::max(least_room, bytes * 8);
    for (const auto& value : graph.values) {
      if (value.type.bytes() > most)
        errors_.add(
            "too-large", fmt::format("'{}', {}, is too large", value.name, to_string(value.type)), {1, 1, 1});
    }
    size_t output = 0;
    for (const auto& buffer : kernel_.buffers) {
      if (buffer.role != BufferRole::out) continue;
      const auto& type = graph.type(graph.outputs[output++]);
      if (type == buffer.type) continue;
      errors_.add(
          "wrong-type",
          fmt::format("{} is {}; it must be {}", buffer.name, to_string(type), to_string(buffer.type)),
          {1, 1, 1});
    }
  }

  // A graph has one size: that which a dynamic axis was first seen with.
  Result<Checked> finished(Graph graph, const Target& target) {
    Checked checked;
    checked.candidate.signature = signature(original_);
    checked.candidate.target = target.name;
    checked.candidate.language = "mlx";
    checked.candidate.source = text_;
    for (size_t a = 0; a < kernel_.axes.size(); ++a) {
      const auto& axis = kernel_.axes[a];
      if (axis.dynamic)
        checked.candidate.guards.sizes.push_back({static_cast<AxisId>(a), 1, axis.size, axis.size});
    }
    checked.constants = constants_of(graph);
    if (checked.constants.size() > most_constants) {
      errors_.add_too_many_constants(most_constants);
      return errors_.take();
    }
    checked.graph = with_clipped_indices(graph);
    return checked;
  }

  // Numbers beside data in what compares or chooses.
  static std::vector<double> constants_of(const Graph& graph) {
    std::set<double> found;
    for (const auto& node : graph.nodes) {
      if (class_of(node.op) != OpClass::elementwise) continue;
      for (auto operand : node.operands) {
        const auto producer = graph.values[operand].producer;
        if (producer < 0 || graph.nodes[producer].op != Op::constant || !compares(node.op)) continue;
        const auto* value = graph.nodes[producer].attributes.find("value");
        if (value && std::holds_alternative<double>(*value)) found.insert(std::get<double>(*value));
        if (value && std::holds_alternative<int64_t>(*value))
          found.insert(static_cast<double>(std::get<int64_t>(*value)));
      }
    }
    return {found.begin(), found.end()};
  }

  static bool compares(Op op) {
    constexpr Op some[] = {
        Op::equal,
        Op::not_equal,
        Op::less,
        Op::less_equal,
        Op::greater,
        Op::greater_equal,
        Op::maximum,
        Op::minimum,
        Op::select};
    return std::find(std::begin(some), std::end(some), op) != std::end(some);
  }

  const Kernel& original_;
  Kernel kernel_;  // with neutral names
  std::string text_;
  Errors errors_;
};

}  // namespace

Result<Checked> check_mlx(const Kernel& kernel, const Draft& draft, const Target& target) {
  return MlxCheck(kernel, draft).run(target);
}

}  // namespace autoperfect::code

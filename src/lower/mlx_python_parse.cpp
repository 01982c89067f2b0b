// Straight-line Python of mlx.core calls -> GraphIR.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "ir/attribute_text.h"
#include "lower/lower.h"
#include "lower/mlx_call.h"
#include "lower/mlx_names.h"
#include "support/number.h"

namespace autoperfect {

namespace {

class PythonParser {
 public:
  explicit PythonParser(const std::string& text) : reader_(text, "python"), calls_(graph_, reader_) {}

  Result<Graph> run() {
    reader_.skip_blank_lines();
    if (skip_import() && parse_signature()) parse_body();
    auto errors = reader_.take_errors(reader_.has_errors() ? std::vector<Diagnostic>{} : verify(graph_));
    if (!errors.empty()) return errors;
    return std::move(graph_);
  }

 private:
  using Kind = MlxArgument::Kind;

  // import mlx.core as mx
  bool skip_import() {
    if (!reader_.at("import")) return true;
    for (const char* word : {"import", "mlx", ".", "core", "as", "mx"})
      if (!reader_.expect(word)) return false;
    if (!reader_.expect_end_of_line()) return false;
    reader_.skip_blank_lines();
    return true;
  }

  // def f(x: "f32[4,8]", w: "f32[8]"):
  bool parse_signature() {
    if (!reader_.expect("def")) return false;
    auto name = reader_.expect(TokenKind::word, "the function's name");
    if (!name || !reader_.expect("(")) return false;
    graph_.name = name->text;
    while (!reader_.at(")")) {
      if (!graph_.inputs.empty() && !reader_.expect(",")) return false;
      if (!parse_parameter()) return false;
    }
    reader_.next();
    return reader_.expect(":") && reader_.expect_end_of_line();
  }

  bool parse_parameter() {
    auto name = reader_.expect(TokenKind::word, "an argument, such as x: \"f32[4,8]\"");
    if (!name || !reader_.expect(":")) return false;
    auto quoted = reader_.expect(TokenKind::string, "the argument's type, such as \"f32[4,8]\"");
    if (!quoted) return false;
    const std::string text(quoted->text);
    TextReader inside(text, "python");
    auto type = parse_type(inside);
    if (!type || !inside.at(TokenKind::end_of_text)) {
      reader_.report(
          "bad-type", fmt::format("\"{}\" is not a type", text), quoted->where, "write \"f32[4,8]\"");
      return false;
    }
    if (!values_.emplace(name->text, graph_.inputs.size()).second) {
      reader_.report("duplicate-name", fmt::format("'{}' is given twice", name->text), name->where);
      return false;
    }
    graph_.add_input(std::string(name->text), *type);
    return true;
  }

  void parse_body() {
    for (reader_.skip_blank_lines(); !reader_.at("return"); reader_.skip_blank_lines()) {
      if (reader_.at(TokenKind::end_of_text)) return reader_.report_unexpected("'return'");
      if (!parse_assignment() || !reader_.expect_end_of_line()) reader_.skip_line();
    }
    do {
      reader_.next();  // `return` or ','
      auto name = reader_.expect(TokenKind::word, "a value");
      if (!name) return;
      if (auto v = find(*name)) graph_.outputs.push_back(*v);
    } while (reader_.at(","));
    if (!reader_.expect_end_of_line()) return;
    reader_.skip_blank_lines();
    if (!reader_.at(TokenKind::end_of_text)) reader_.report_unexpected("nothing after 'return'");
  }

  bool parse_assignment() {
    auto name = reader_.expect(TokenKind::word, "an assignment, such as y = mx.exp(x)");
    if (!name) return false;
    const auto before = graph_.values.size();
    auto result = reader_.expect("=") ? parse_expression() : std::nullopt;
    if (result && result->kind != Kind::value) {
      reader_.report("not-an-array", fmt::format("'{}' is no array", name->text), name->where);
      result = std::nullopt;
    }
    values_[name->text] = result ? result->value : poisoned;
    if (!result) return false;
    if (static_cast<size_t>(result->value) >= before) rename(result->value, std::string(name->text));
    return true;
  }

  // Whatever has the name already, a number inside an expression or a value assigned before, yields it.
  void rename(ValueId v, const std::string& name) {
    auto has = [](const std::string& wanted) {
      return [&wanted](const Value& value) { return value.name == wanted; };
    };
    auto& values = graph_.values;
    auto holder = std::find_if(values.begin(), values.end(), has(name));
    if (holder != values.end() && holder != values.begin() + v) {
      std::string other = name + "_";
      while (std::any_of(values.begin(), values.end(), has(other)))
        other += '_';
      holder->name = other;
    }
    values[v].name = name;
  }

  std::optional<ValueId> find(const Token& name) {
    auto found = values_.find(name.text);
    if (found == values_.end()) {
      reader_.report(
          "undefined-value",
          fmt::format("'{}' is neither an argument nor assigned above", name.text),
          name.where);
      return std::nullopt;
    }
    if (found->second == poisoned) return std::nullopt;
    return static_cast<ValueId>(found->second);
  }

  std::optional<MlxArgument> parse_expression() {
    if (reader_.at("(") || reader_.at("[")) return parse_list();
    if (reader_.at(TokenKind::number) || reader_.at("-")) return parse_number();
    auto word = reader_.expect(TokenKind::word, "a value, a number or a call of mx");
    if (!word) return std::nullopt;
    return parse_after(*word);
  }

  std::optional<MlxArgument> parse_after(const Token& word) {
    MlxArgument found;
    found.where = word.where;
    if (word.text == "True" || word.text == "False") {
      found.kind = Kind::boolean;
      found.real = found.integer = word.text == "True";
      return found;
    }
    if (word.text == "mx") return parse_mx(word.where, 1);
    auto v = find(word);
    if (!v) return std::nullopt;
    found.value = *v;
    while (reader_.at("[") || reader_.at(".")) {
      auto next =
          reader_.at("[") ? parse_slice(found.value, word.where) : parse_method(found.value, word.where);
      if (!next) return std::nullopt;
      found.value = *next;
    }
    return found;
  }

  // The bits of an i64 or a u64.
  static std::optional<int64_t> parse_integer(std::string_view text) {
    if (auto small = to_int64(text)) return small;
    uint64_t bits = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
    if (error != std::errc{} || last != text.data() + text.size()) return std::nullopt;
    return static_cast<int64_t>(bits);
  }

  std::optional<MlxArgument> parse_number() {
    MlxArgument found;
    found.where = reader_.peek().where;
    if (reader_.take("-")) {
      if (reader_.take("mx")) return parse_mx(found.where, -1);
      reader_.report_unexpected("a number");
      return std::nullopt;
    }
    auto token = reader_.next();
    const bool is_real = token.text.find_first_of(".eEin") != std::string_view::npos;
    found.kind = is_real ? Kind::real : Kind::integer;
    const auto real = parse_python_float(token.text);
    const auto integer = is_real ? std::optional<int64_t>(0) : parse_integer(token.text);
    if (!real || !integer) {
      reader_.report("bad-number", fmt::format("'{}' is not a number", token.text), token.where);
      return std::nullopt;
    }
    found.real = *real;
    found.integer = *integer;
    return found;
  }

  // .inf, .float32, .add(...)
  std::optional<MlxArgument> parse_mx(const Where& where, double sign) {
    if (!reader_.expect(".")) return std::nullopt;
    auto word = reader_.expect(TokenKind::word, "a name in mx");
    if (!word) return std::nullopt;
    MlxArgument found;
    found.where = where;
    if (word->text == "inf" || word->text == "nan") {
      found.kind = Kind::real;
      found.real = sign * (word->text == "inf" ? std::numeric_limits<double>::infinity()
                                               : std::numeric_limits<double>::quiet_NaN());
      return found;
    }
    if (auto dtype = dtype_of_mlx(word->text)) {
      found.kind = Kind::dtype;
      found.dtype = *dtype;
      return found;
    }
    if (reader_.at(".")) {  // mx.fast.rms_norm: as one name
      std::string path(word->text);
      while (reader_.take(".")) {
        auto part = reader_.expect(TokenKind::word, "a name");
        if (!part) return std::nullopt;
        path += "." + std::string(part->text);
      }
      reader_.report("bad-call", fmt::format("mx.{}: not a function that a graph has", path), word->where);
      return std::nullopt;
    }
    MlxCall call{word->text, {}, {}, word->where};
    if (!parse_arguments(call)) return std::nullopt;
    auto v = calls_.apply(call);
    if (!v) return std::nullopt;
    found.value = *v;
    return found;
  }

  bool parse_arguments(MlxCall& call) {
    if (!reader_.expect("(")) return false;
    bool first = true;
    while (!reader_.at(")")) {
      if (!first && !reader_.expect(",")) return false;
      first = false;
      if (!reader_.at(TokenKind::word)) {
        auto argument = parse_expression();
        if (!argument) return false;
        call.arguments.push_back(std::move(*argument));
        continue;
      }
      auto word = reader_.next();
      const bool is_keyword = reader_.take("=");
      auto argument = is_keyword ? parse_expression() : parse_after(word);
      if (!argument) return false;
      if (is_keyword) {
        call.keywords.emplace(word.text, std::move(*argument));
      } else {
        call.arguments.push_back(std::move(*argument));
      }
    }
    reader_.next();
    return true;
  }

  // (1, 2), (3,), [a, b]
  std::optional<MlxArgument> parse_list() {
    auto open = reader_.next();
    const std::string_view close = open.text == "(" ? ")" : "]";
    MlxArgument list;
    list.kind = Kind::list;
    list.where = open.where;
    while (!reader_.at(close)) {
      if (!list.items.empty() && !reader_.expect(",")) return std::nullopt;
      if (reader_.at(close)) break;
      auto item = parse_expression();
      if (!item) return std::nullopt;
      list.items.push_back(std::move(*item));
    }
    reader_.next();
    return list;
  }

  // [0:4, 5:-7:-1]
  std::optional<ValueId> parse_slice(ValueId v, const Where& where) {
    std::vector<int64_t> start, stop, strides;
    reader_.next();
    while (!reader_.at("]")) {
      if (!start.empty() && !reader_.expect(",")) return std::nullopt;
      auto first = parse_integer();
      if (!first || !reader_.expect(":")) return std::nullopt;
      auto last = parse_integer();
      if (!last) return std::nullopt;
      std::optional<int64_t> step = 1;
      if (reader_.take(":")) step = parse_integer();
      if (!step) return std::nullopt;
      start.push_back(*first);
      stop.push_back(*last);
      strides.push_back(*step);
    }
    reader_.next();
    Attributes attributes;
    attributes.set("start", std::move(start));
    attributes.set("stop", std::move(stop));
    attributes.set("strides", std::move(strides));
    return calls_.add(Op::slice, {v}, std::move(attributes), where);
  }

  std::optional<int64_t> parse_integer() {
    auto token = reader_.expect(TokenKind::number, "an integer");
    if (!token) return std::nullopt;
    auto integer = to_int64(token->text);
    if (!integer) reader_.report("bad-number", "this is not an integer of 64 bits", token->where);
    return integer;
  }

  std::optional<ValueId> parse_method(ValueId v, const Where& where) {
    reader_.next();
    if (!reader_.expect("astype") || !reader_.expect("(")) return std::nullopt;
    auto dtype = parse_expression();
    if (!dtype || !reader_.expect(")")) return std::nullopt;
    if (dtype->kind != Kind::dtype) {
      reader_.report("bad-call", "astype takes a dtype", dtype->where, "such as mx.float32");
      return std::nullopt;
    }
    Attributes attributes;
    attributes.set("dtype", dtype->dtype);
    return calls_.add(Op::cast, {v}, std::move(attributes), where);
  }

  // Of names whose line was in error: lines that use them are skipped without a second report.
  static constexpr int64_t poisoned = -2;

  Graph graph_;
  TextReader reader_;
  MlxCalls calls_;
  std::unordered_map<std::string_view, int64_t> values_;
};

}  // namespace

Result<Graph> parse_mlx_python(const std::string& text) {
  return PythonParser(text).run();
}

}  // namespace autoperfect

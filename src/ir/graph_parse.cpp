#include <fmt/format.h>

#include <unordered_map>

#include "ir/attribute_rules.h"
#include "ir/attribute_text.h"
#include "ir/graph_text.h"
#include "support/spelling.h"

namespace autoperfect {

namespace {

// A value whose own line was in error: lines that use it are skipped without a second report.
constexpr ValueId poisoned = -2;

class GraphParser {
 public:
  explicit GraphParser(const std::string& text) : reader_(text, "ir") {}

  Result<Graph> run() {
    bool complete = parse_header(reader_, "graph") && parse_signature() && parse_body();
    if (complete) parse_end();
    // What was read is verified even when some lines failed, so that one run finds every error.
    auto errors = reader_.take_errors(verify(graph_));
    if (!errors.empty()) return errors;
    return std::move(graph_);
  }

 private:
  bool parse_signature() {
    reader_.skip_blank_lines();
    if (!reader_.expect("graph")) return false;
    auto name = reader_.expect(TokenKind::symbol, "the graph's name, such as @main");
    if (!name || !reader_.expect("(")) return false;
    graph_.name = name->text;
    reader_.skip_blank_lines();
    while (!reader_.at(")")) {
      if (!parse_input() && !skip_input()) return false;
      reader_.skip_blank_lines();
      if (!reader_.at(")") && !reader_.expect(",")) return false;
      reader_.skip_blank_lines();
    }
    reader_.next();
    return reader_.expect("{") && reader_.expect_end_of_line();
  }

  // To the ',' or ')' after an input in error, if its line has one.
  bool skip_input() {
    int depth = 0;
    while (!reader_.at(TokenKind::end_of_line) && !reader_.at(TokenKind::end_of_text)) {
      if (depth == 0 && (reader_.at(",") || reader_.at(")"))) return true;
      depth += reader_.at("[") ? 1 : reader_.at("]") ? -1 : 0;
      reader_.next();
    }
    return false;
  }

  bool parse_input() {
    auto name = reader_.expect(TokenKind::value, "an input, such as %x: f32[4]");
    if (!name) return false;
    if (!parse_input_type(*name)) {
      by_name_.emplace(name->text, poisoned);
      return false;
    }
    return true;
  }

  bool parse_input_type(const Token& name) {
    if (!reader_.expect(":")) return false;
    auto type = parse_type(reader_);
    if (!type) return false;
    std::string hash;
    if (reader_.take("captured")) {
      auto text = reader_.expect("=") ? reader_.expect(TokenKind::string, "a quoted hash") : std::nullopt;
      if (!text) return false;
      auto unquoted = unquote(text->text);
      if (!unquoted || unquoted->empty()) {
        reader_.report("bad-string", "this is not the hash of an array", text->where);
        return false;
      }
      hash = *unquoted;
    }
    auto value = define(name, std::move(*type), -1, 0);
    graph_.inputs.push_back({value, hash});
    return true;
  }

  bool parse_body() {
    while (true) {
      reader_.skip_blank_lines();
      if (reader_.at("return")) return parse_return();
      if (reader_.at(TokenKind::end_of_text) || reader_.at("}")) {
        reader_.report_unexpected("an op or 'return'");
        return false;
      }
      parse_statement();
    }
  }

  void parse_statement() {
    std::vector<Token> results;
    Node node;
    std::vector<TensorType> types;
    bool good = parse_results(results) && parse_op_and_operands(node) && parse_types(node, results, types);
    if (!good || !reader_.expect_end_of_line()) {
      for (const auto& result : results)
        by_name_.emplace(result.text, poisoned);
      reader_.skip_line();
      return;
    }
    fill_from_type(node, types);
    auto id = static_cast<NodeId>(graph_.nodes.size());
    for (size_t i = 0; i < results.size(); ++i) {
      node.results.push_back(define(results[i], std::move(types[i]), id, static_cast<int>(i)));
    }
    graph_.nodes.push_back(std::move(node));
  }

  // %q, %r =    (only an opaque op may have no result: `= opaque ...`)
  bool parse_results(std::vector<Token>& results) {
    while (reader_.at(TokenKind::value)) {
      results.push_back(reader_.next());
      if (!reader_.take(",")) break;
    }
    return reader_.expect("=");
  }

  bool parse_op_and_operands(Node& node) {
    auto word = reader_.expect(TokenKind::word, "an op");
    if (!word) return false;
    node.where = word->where;
    auto op = parse_op(word->text);
    if (!op) {
      auto near = nearest_word(word->text, all_op_names());
      auto hint = near.empty() ? "ops.def lists all ops" : fmt::format("did you mean '{}'?", near);
      reader_.report("unknown-op", fmt::format("no op is called '{}'", word->text), word->where, hint);
      return false;
    }
    node.op = *op;
    bool good = node.op == Op::constant ? parse_constant(node) : parse_operands(node);
    return good && parse_attributes(reader_, node.attributes);
  }

  bool parse_constant(Node& node) {
    auto value = parse_attribute_value(reader_);
    if (!value) return false;
    node.attributes.set("value", std::move(*value));
    return true;
  }

  bool parse_operands(Node& node) {
    bool good = true;
    while (reader_.at(TokenKind::value)) {
      auto value = use(reader_.next());
      if (value >= 0) node.operands.push_back(value);
      good &= value >= 0;
      if (!reader_.take(",")) break;
      if (!reader_.at(TokenKind::value)) {
        reader_.report_unexpected("a value after ','");
        return false;
      }
    }
    return good;
  }

  bool parse_types(const Node& node, const std::vector<Token>& results, std::vector<TensorType>& types) {
    if (!reader_.expect(":")) return false;
    while (!reader_.at(TokenKind::end_of_line) && !reader_.at(TokenKind::end_of_text)) {
      if (!types.empty() && !reader_.expect(",")) return false;
      auto type = parse_type(reader_);
      if (!type) return false;
      types.push_back(std::move(*type));
    }
    if (types.size() == results.size()) return true;
    auto message = fmt::format("{} results and {} types", results.size(), types.size());
    reader_.report("result-count", message, node.where, "one type for each value before '='");
    return false;
  }

  static void fill_from_type(Node& node, const std::vector<TensorType>& types) {
    auto implied = attributes_from_type(node.op);
    if (types.size() != 1 || implied == FromType::none) return;
    const auto& type = types[0];
    auto fill = [&](FromType which, const char* name, AttributeValue value) {
      if (has(implied, which) && !node.attributes.has(name)) node.attributes.set(name, std::move(value));
    };
    fill(FromType::dtype, "dtype", type.dtype);
    fill(FromType::shape, "shape", type.shape);
    if (type.rank() == 1) fill(FromType::size, "size", type.shape[0]);
    if (node.op == Op::constant) convert_constant(node, type.dtype);
  }

  // `const 1 : f32[]` means 1.0, and `const [] : f32[0]` a list of doubles.
  static void convert_constant(Node& node, Dtype dtype) {
    if (!is_floating(dtype) && dtype != Dtype::c64) return;
    const auto& value = *node.attributes.find("value");
    if (auto* integer = std::get_if<int64_t>(&value)) {
      node.attributes.set("value", static_cast<double>(*integer));
    } else if (auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
      node.attributes.set("value", std::vector<double>(integers->begin(), integers->end()));
    }
  }

  bool parse_return() {
    reader_.next();
    while (reader_.at(TokenKind::value)) {
      auto value = use(reader_.next());
      if (value >= 0) graph_.outputs.push_back(value);
      if (!reader_.take(",")) break;
      if (!reader_.at(TokenKind::value)) {
        reader_.report_unexpected("a value after ','");
        return false;
      }
    }
    return reader_.expect_end_of_line();
  }

  void parse_end() {
    reader_.skip_blank_lines();
    if (!reader_.expect("}")) return;
    reader_.skip_blank_lines();
    if (!reader_.at(TokenKind::end_of_text)) reader_.report_unexpected("nothing after the graph");
  }

  ValueId define(const Token& name, TensorType type, NodeId producer, int result) {
    auto id = static_cast<ValueId>(graph_.values.size());
    Value value;
    value.name = name.text;
    value.type = std::move(type);
    value.producer = producer;
    value.result = result;
    value.where = name.where;
    graph_.values.push_back(std::move(value));
    by_name_.emplace(name.text, id);  // of two equal names the verifier reports the second
    return id;
  }

  ValueId use(const Token& name) {
    auto found = by_name_.find(name.text);
    if (found != by_name_.end()) return found->second;
    std::vector<std::string_view> known;
    if (graph_.values.size() <= 1000) {
      for (const auto& value : graph_.values)
        known.push_back(value.name);
    }
    auto near = nearest_word(name.text, known);
    auto hint = near.empty() ? "values are defined above their uses" : fmt::format("did you mean %{}?", near);
    reader_.report("undefined-value", fmt::format("%{} is not defined", name.text), name.where, hint);
    return poisoned;
  }

  TextReader reader_;
  Graph graph_;
  std::unordered_map<std::string_view, ValueId> by_name_;
};

}  // namespace

Result<Graph> parse_graph(const std::string& text) {
  return GraphParser(text).run();
}

}  // namespace autoperfect

#include "ir/attribute_rules.h"
#include "ir/attribute_text.h"
#include "ir/graph_text.h"
#include "ir/identifier.h"
#include "ir/shape.h"

namespace autoperfect {

namespace {

// The attributes that the text shows: those that the type after the colon says already are left out.
Attributes shown_attributes(const Graph& graph, const Node& node) {
  auto shown = node.attributes;
  auto implied = attributes_from_type(node.op);
  if (node.results.empty() || implied == FromType::none) return shown;
  const auto& type = graph.type(node.results[0]);
  auto drop = [&](FromType which, const char* name, const AttributeValue& value) {
    auto* found = shown.find(name);
    if (has(implied, which) && found && *found == value) shown.erase(name);
  };
  drop(FromType::dtype, "dtype", type.dtype);
  drop(FromType::shape, "shape", type.shape);
  if (type.rank() == 1) drop(FromType::size, "size", type.shape[0]);
  return shown;
}

class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, Names names) : graph_(graph), names_(graph.values.size()) {
    if (names == Names::kept) {
      for (size_t v = 0; v < names_.size(); ++v)
        names_[v] = graph.values[v].name;
      return;
    }
    title_ = "_";
    size_t next = 0;
    for (const auto& input : graph.inputs)
      names_[input.value] = std::to_string(next++);
    for (const auto& node : graph.nodes) {
      for (auto result : node.results)
        names_[result] = std::to_string(next++);
    }
  }

  std::string run() {
    out_ = "autoperfect.graph 1\ngraph @" + (title_.empty() ? to_identifier(graph_.name) : title_) + "(";
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const auto& input = graph_.inputs[i];
      if (i > 0) out_ += ", ";
      append_value(input.value);
      out_ += ": " + to_string(graph_.type(input.value));
      if (!input.captured_hash.empty()) out_ += " captured=" + quote(input.captured_hash);
    }
    out_ += ") {\n";
    for (const auto& node : graph_.nodes)
      append_node(node);
    out_ += "  return";
    append_values(graph_.outputs);
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  void append_value(ValueId v) {
    out_ += '%';
    out_ += names_[v];
  }

  // " %a, %b", or nothing
  void append_values(const std::vector<ValueId>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      out_ += i > 0 ? ", " : " ";
      append_value(values[i]);
    }
  }

  void append_node(const Node& node) {
    out_ += ' ';
    append_values(node.results);
    out_ += " = ";
    out_ += name(node.op);
    append_values(node.operands);
    auto attributes = shown_attributes(graph_, node);
    if (auto* value = node.op == Op::constant ? attributes.find("value") : nullptr) {
      out_ += ' ';
      append(out_, *value);
      attributes.erase("value");
    }
    append_attributes(out_, attributes);
    out_ += " :";
    for (size_t i = 0; i < node.results.size(); ++i) {
      out_ += i > 0 ? ", " : " ";
      out_ += to_string(graph_.type(node.results[i]));
    }
    out_ += '\n';
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  std::string title_;
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph, Names names) {
  return GraphPrinter(graph, names).run();
}

}  // namespace autoperfect

#include "fuse/plan_text.h"

#include <algorithm>
#include <unordered_map>

#include "ir/text_lexer.h"

namespace autoperfect {
namespace {

constexpr std::string_view header = "autoperfect.plan 1";

std::string value_list(const Graph& graph, const std::vector<ValueId>& values) {
  std::string text;
  for (ValueId v : values)
    text += " %" + graph.values[v].name;
  return text;
}

std::string first_result(const Graph& graph, NodeId node) {
  auto& results = graph.nodes[node].results;
  return results.empty() ? "%_" : "%" + graph.values[results[0]].name;
}

std::string print_region(const Graph& graph, const Region& region, const char* word) {
  std::string text = std::string("  ") + word + " " + std::string(name(region.kind)) + " {\n    nodes";
  for (NodeId id : region.nodes)
    text += " " + first_result(graph, id);
  if (!region.recomputed.empty()) {
    text += "\n    recomputes";
    for (NodeId id : region.recomputed)
      text += " " + first_result(graph, id);
  }
  text += "\n    inputs" + value_list(graph, region.inputs);
  text += "\n    outputs" + value_list(graph, region.outputs);
  return text + "\n    reason " + quote(region.reason) + "\n  }\n";
}

class PlanParser {
 public:
  PlanParser(const Graph& graph, const std::string& text) : graph_(graph), reader_(text, "fuse") {
    for (size_t v = 0; v < graph.values.size(); ++v)
      by_name_[graph.values[v].name] = static_cast<ValueId>(v);
  }

  Result<Plan> run() {
    reader_.skip_blank_lines();
    reader_.expect("autoperfect");
    reader_.skip_line();
    reader_.skip_blank_lines();
    if (reader_.expect("plan") && reader_.expect("{") && reader_.expect_end_of_line()) parse_entries();
    if (reader_.has_errors()) return reader_.take_errors();
    return std::move(plan_);
  }

 private:
  void parse_entries() {
    for (reader_.skip_blank_lines(); !reader_.take("}"); reader_.skip_blank_lines()) {
      if (reader_.at(TokenKind::end_of_text)) return reader_.report_unexpected("'}'");
      if (reader_.take("region")) {
        parse_region(plan_.regions);
      } else if (reader_.take("declined")) {
        parse_region(plan_.declined);
      } else if (reader_.take("stop")) {
        parse_stop();
      } else {
        reader_.report_unexpected("region, declined, stop or '}'");
        reader_.skip_line();
      }
    }
  }

  std::vector<ValueId> parse_values() {
    std::vector<ValueId> values;
    while (reader_.at(TokenKind::value)) {
      Token token = reader_.next();
      auto it = by_name_.find(std::string(token.text));
      if (it == by_name_.end()) {
        reader_.report("unknown-value", "the graph has no value %" + std::string(token.text), token.where);
      } else {
        values.push_back(it->second);
      }
    }
    return values;
  }

  std::vector<NodeId> parse_nodes() {
    Where where = reader_.peek().where;
    std::vector<NodeId> nodes;
    for (ValueId v : parse_values()) {
      if (graph_.values[v].producer < 0) {
        reader_.report("not-a-node", "%" + graph_.values[v].name + " is an input", where);
      } else {
        nodes.push_back(graph_.values[v].producer);
      }
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  void parse_region(std::vector<Region>& into) {
    Region region;
    Token kind = reader_.next();
    bool known = false;
    for (auto k : all_region_kinds())
      if (kind.text == name(k)) region.kind = k, known = true;
    if (!known)
      reader_.report("unknown-kind", "no region kind is called '" + std::string(kind.text) + "'", kind.where);
    reader_.expect("{");
    for (reader_.skip_blank_lines(); !reader_.take("}"); reader_.skip_blank_lines()) {
      if (reader_.at(TokenKind::end_of_text)) return reader_.report_unexpected("'}'");
      if (!parse_field(region)) reader_.skip_line();
    }
    into.push_back(std::move(region));
  }

  bool parse_field(Region& region) {
    if (reader_.take("nodes")) {
      region.nodes = parse_nodes();
    } else if (reader_.take("recomputes")) {
      region.recomputed = parse_nodes();
    } else if (reader_.take("inputs")) {
      region.inputs = parse_values();
    } else if (reader_.take("outputs")) {
      region.outputs = parse_values();
    } else if (reader_.take("reason")) {
      auto text = reader_.expect(TokenKind::string, "a quoted reason");
      if (text) region.reason = unquote(text->text).value_or("");
    } else {
      reader_.report_unexpected("nodes, recomputes, inputs, outputs or reason");
      return false;
    }
    return reader_.expect_end_of_line();
  }

  void parse_stop() {
    auto ends = parse_values();
    auto text = reader_.expect(TokenKind::string, "a quoted reason");
    reader_.expect_end_of_line();
    if (!text || ends.size() != 2) return;
    plan_.stops.push_back(
        {graph_.values[ends[0]].producer, graph_.values[ends[1]].producer, unquote(text->text).value_or("")});
  }

  const Graph& graph_;
  TextReader reader_;
  std::unordered_map<std::string, ValueId> by_name_;
  Plan plan_;
};

}  // namespace

std::string print(const Graph& graph, const Plan& plan) {
  std::string text = print(graph) + "\n" + std::string(header) + "\nplan {\n";
  for (auto& region : plan.regions)
    text += print_region(graph, region, "region");
  for (auto& region : plan.declined)
    text += print_region(graph, region, "declined");
  for (auto& stop : plan.stops) {
    if (graph.nodes[stop.producer].results.empty() || graph.nodes[stop.consumer].results.empty()) continue;
    text += "  stop " + first_result(graph, stop.producer) + " " + first_result(graph, stop.consumer) + " " +
            quote(stop.reason) + "\n";
  }
  return text + "}\n";
}

Result<std::pair<Graph, Plan>> parse_plan(const std::string& text) {
  size_t at = text.find("\n" + std::string(header));
  if (at == std::string::npos)
    return Diagnostic{"fuse", "no-plan", "the text has no plan", {}, "make one with `autoperfect fuse`"};
  auto graph = parse_graph(text.substr(0, at + 1));
  if (!graph) return graph.errors();
  // Lines keep their numbers: what came before is replaced by empty lines.
  auto lines =
      static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<int64_t>(at) + 1, '\n'));
  std::string rest = std::string(lines, '\n') + text.substr(at + 1);
  auto plan = PlanParser(*graph, rest).run();
  if (!plan) return plan.errors();
  return std::pair<Graph, Plan>(std::move(*graph), std::move(*plan));
}

}  // namespace autoperfect

// The invariants of GraphIR. verify() reports every violation:
//
//  1. Every operand, result, input and output is the id of a value.
//  2. Every value is either exactly one input or exactly one result of one node, and its `producer` and
//     `result` say so.
//  3. Nodes are in a topological order: operands are inputs or results of earlier nodes.
//  4. Names of values are unique and made of letters, digits and '_' (or digits alone); the graph's is
//     an identifier.
//  5. Shapes are possible: rank at most 32, sizes not negative, a size in bytes that fits.
//  6. A node has as many operands as its op takes and the attributes of ops.def, with their types.
//  7. It has the results that are inferred for it, of the inferred types (infer_types.cpp: dtypes agree,
//  shapes
//     broadcast, axes exist, are ascending and unique...). Those of an op that needs its primitive are as
//     stated.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/attribute_rules.h"
#include "ir/graph.h"
#include "ir/identifier.h"
#include "ir/shape.h"

namespace autoperfect {

namespace {

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph) : graph_(graph), definitions_(graph.values.size(), 0) {}

  std::vector<Diagnostic> run() {
    check_values();
    check_inputs();
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      check_node(static_cast<NodeId>(n));
    check_definitions();
    for (auto output : graph_.outputs) {
      if (!exists(output)) report("no-such-value", fmt::format("output {} is not a value", output), {});
    }
    return std::move(found_);
  }

 private:
  void report(const char* code, std::string message, Where where, std::string hint = "") {
    found_.push_back({"ir", code, std::move(message), where, std::move(hint)});
  }

  bool exists(ValueId v) const { return v >= 0 && static_cast<size_t>(v) < graph_.values.size(); }

  void check_values() {
    if (!is_identifier(graph_.name)) report("bad-name", "the graph's name is not an identifier", {});
    std::unordered_map<std::string_view, ValueId> by_name;
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const auto& value = graph_.values[v];
      if (!is_value_name(value.name)) {
        report("bad-name", fmt::format("'%{}' is not a name", value.name), value.where);
      } else if (!by_name.emplace(value.name, static_cast<ValueId>(v)).second) {
        report("duplicate-name", fmt::format("%{} is defined twice", value.name), value.where);
      }
      if (!checked_elements(value.type.shape)) {
        auto message =
            fmt::format("%{} has the impossible shape {}", value.name, to_string(value.type.shape));
        report("shape-too-large", message, value.where, "at most 32 axes, and 2^57 elements");
      }
    }
  }

  void check_inputs() {
    for (const auto& input : graph_.inputs) {
      if (!exists(input.value)) {
        report("no-such-value", fmt::format("input {} is not a value", input.value), {});
        continue;
      }
      ++definitions_[input.value];
      const auto& value = graph_.values[input.value];
      if (value.producer != -1) {
        report("wrong-producer", fmt::format("input %{} names a producer", value.name), value.where);
      }
    }
  }

  void check_node(NodeId n) {
    const auto& node = graph_.nodes[n];
    bool complete = true;
    std::vector<TensorType> types;
    for (auto operand : node.operands) {
      if (!exists(operand)) {
        report("no-such-value", fmt::format("operand {} is not a value", operand), node.where);
        complete = false;
        continue;
      }
      const auto& value = graph_.values[operand];
      if (value.producer >= n) {
        report(
            "use-before-definition", fmt::format("%{} is used before it is defined", value.name), node.where);
      }
      complete &= checked_elements(value.type.shape).has_value();
      types.push_back(value.type);
    }
    check_results(n);
    if (complete) check_types(node, types);
  }

  void check_results(NodeId n) {
    const auto& node = graph_.nodes[n];
    for (size_t i = 0; i < node.results.size(); ++i) {
      auto result = node.results[i];
      if (!exists(result)) {
        report("no-such-value", fmt::format("result {} is not a value", result), node.where);
        continue;
      }
      ++definitions_[result];
      const auto& value = graph_.values[result];
      if (value.producer != n || value.result != static_cast<int>(i)) {
        report("wrong-producer", fmt::format("%{} does not name its producer", value.name), value.where);
      }
    }
  }

  void check_types(const Node& node, const std::vector<TensorType>& operands) {
    if (needs_its_primitive(node.op)) {
      for (auto& diagnostic : check_attributes(node.op, node.attributes))
        add(std::move(diagnostic), node.where);
      return;
    }
    auto inferred = infer_types(node.op, operands, node.attributes);
    if (!inferred) {
      for (auto diagnostic : inferred.errors())
        add(std::move(diagnostic), node.where);
      return;
    }
    if (node.results.size() != inferred->size()) {
      auto count = inferred->size();
      auto results = count == 1 ? std::string("one result") : fmt::format("{} results", count);
      auto message = fmt::format("'{}' has {}, not {}", name(node.op), results, node.results.size());
      report("result-count", message, node.where);
    }
    for (size_t i = 0; i < std::min(node.results.size(), inferred->size()); ++i) {
      if (exists(node.results[i])) check_declared(node, node.results[i], (*inferred)[i]);
    }
  }

  void check_declared(const Node& node, ValueId result, const TensorType& inferred) {
    const auto& declared = graph_.values[result];
    if (declared.type == inferred) return;
    auto message = fmt::format(
        "%{} is declared {}, but '{}' gives {}",
        declared.name,
        to_string(declared.type),
        name(node.op),
        to_string(inferred));
    report("type-mismatch", message, node.where);
  }

  void check_definitions() {
    for (size_t v = 0; v < definitions_.size(); ++v) {
      if (definitions_[v] == 1) continue;
      const auto& value = graph_.values[v];
      auto how = definitions_[v] == 0 ? "is neither an input nor a result" : "is defined more than once";
      report("definition-count", fmt::format("%{} {}", value.name, how), value.where);
    }
  }

  void add(Diagnostic diagnostic, const Where& where) {
    diagnostic.where = where;
    found_.push_back(std::move(diagnostic));
  }

  const Graph& graph_;
  std::vector<int> definitions_;  // per value: how many inputs and results it is
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> verify(const Graph& graph) {
  return GraphVerifier(graph).run();
}

}  // namespace autoperfect

#include "capture/trace.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "mlx/export.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;

using Id = std::uintptr_t;

// What is known of an array of the graph before it is decided whether it becomes a node or a leaf.
struct Fact {
  bool depends = false;  // on an argument
  bool cheap = false;    // a constant made of ranges and numbers
  bool visited = false;
};

class Walk {
 public:
  Walk(TracedProgram& trace, const std::vector<mx::array>& placeholders, bool inside_another)
      : trace_(trace), inside_another_(inside_another) {
    for (const auto& placeholder : placeholders) {
      auto index = static_cast<int32_t>(trace_.values.size());
      values_.emplace(placeholder.id(), index);
      facts_[placeholder.id()] = {true, false, true};
      trace_.values.push_back({placeholder, TracedValue::Source::argument, index, 0});
    }
  }

  void run(const std::vector<mx::array>& outputs) {
    for (const auto& output : outputs)
      find_facts(output);
    for (const auto& output : outputs) {
      record(output);
      trace_.outputs.push_back(values_.at(output.id()));
    }
  }

 private:
  // Has something to compute, as opposed to data.
  static bool is_lazy(const mx::array& a) {
    return a.has_primitive() && a.status() == mx::array::Status::unscheduled;
  }

  // Depth first with an explicit stack: graphs may be deeper than the machine's. `done` sees inputs before
  // users.
  template <class Enter, class Done>
  static void visit(const mx::array& root, Enter enter, Done done) {
    std::vector<std::pair<mx::array, size_t>> stack;
    if (enter(root)) stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [array, next] = stack.back();
      if (next < array.inputs().size()) {
        const auto& input = array.inputs()[next++];
        if (enter(input)) stack.emplace_back(input, 0);
      } else {
        auto finished = std::move(stack.back().first);
        stack.pop_back();
        done(finished);
      }
    }
  }

  void find_facts(const mx::array& root) {
    visit(
        root,
        [this](const mx::array& a) {
          auto& fact = facts_[a.id()];
          if (std::exchange(fact.visited, true)) return false;
          if (is_lazy(a) || (a.has_primitive() && a.is_tracer())) return true;
          fact.cheap = a.size() == 1;
          check_leaf(a);
          return false;
        },
        [this](const mx::array& a) {
          Fact fact{false, is_cheap(a), true};
          for (const auto& input : a.inputs())
            fact.depends |= facts_[input.id()].depends;
          if (inside_another_ && !fact.depends && a.is_tracer()) trace_.uses_tracers = true;
          for (const auto& output : a.outputs())
            facts_[output.id()] = fact;
        });
  }

  // Data without bytes is a placeholder of another trace.
  void check_leaf(const mx::array& a) {
    bool has_bytes = a.data_shared_ptr() != nullptr || a.size() == 0;
    if (!a.has_primitive() && !has_bytes) trace_.uses_tracers = true;
    if (inside_another_ && a.is_tracer()) trace_.uses_tracers = true;
  }

  // What is made from nothing but ranges and numbers is part of the program, whatever device would compute
  // it.
  bool is_cheap(const mx::array& a) {
    auto mapped = map_primitive(a);
    return mapped && stays_cheap(mapped->op) &&
           std::all_of(a.inputs().begin(), a.inputs().end(), [this](const mx::array& input) {
             return facts_[input.id()].cheap;
           });
  }

  bool becomes_node(const mx::array& a) {
    if (!a.has_primitive()) return false;
    const auto& fact = facts_[a.id()];
    if (fact.depends) return true;
    if (!is_lazy(a)) return false;
    return fact.cheap || (a.inputs().size() == 1 && is_view(a.primitive()));
  }

  void record(const mx::array& root) {
    visit(
        root,
        [this](const mx::array& a) {
          if (values_.count(a.id())) return false;
          if (becomes_node(a)) return true;
          auto leaf = static_cast<int32_t>(trace_.leaves.size());
          trace_.leaves.push_back(a);
          add_value(a, TracedValue::Source::leaf, leaf, 0);
          return false;
        },
        [this](const mx::array& a) {
          if (!values_.count(a.id())) add_node(a);  // a sibling, or a second use, may have been first
        });
  }

  void add_node(const mx::array& a) {
    auto index = static_cast<int32_t>(trace_.nodes.size());
    TracedNode node{a.primitive_ptr(), map_primitive(a), {}, {}};
    for (const auto& input : a.inputs())
      node.operands.push_back(values_.at(input.id()));
    auto outputs = a.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      node.results.push_back(
          add_value(outputs[i], TracedValue::Source::node, index, static_cast<int32_t>(i)));
    }
    trace_.nodes.push_back(std::move(node));
  }

  int32_t add_value(const mx::array& a, TracedValue::Source source, int32_t index, int32_t result) {
    auto value = static_cast<int32_t>(trace_.values.size());
    values_.emplace(a.id(), value);
    trace_.values.push_back({a, source, index, result});
    return value;
  }

  TracedProgram& trace_;
  bool inside_another_;
  std::unordered_map<Id, int32_t> values_;
  std::unordered_map<Id, Fact> facts_;
};

}  // namespace

bool in_transformation() {
  // MLX does not export the question, but a flagged array answers it. Never destroyed: threads may outlive
  // statics.
  static const auto* flagged = [] {
    auto* array = new mx::array(0.0f);
    array->set_tracer(true);
    return array;
  }();
  return flagged->is_tracer();
}

TracedProgram trace(const ArrayFunction& fn, const std::vector<mx::array>& arguments) {
  TracedProgram result;
  bool inside_another = in_transformation();
  // MLX runs the wrapper in its trace scope; what it returns is of no interest, so it returns nothing and
  // MLX's own (recursive) passes over the graph have nothing to do.
  std::function<std::vector<mx::array>(const mx::Args&)> wrapper = [&](const mx::Args& placeholders) {
    auto outputs = fn(placeholders);
    Walk(result, placeholders, inside_another).run(outputs);
    return std::vector<mx::array>{};
  };
  mx::export_function([](const mx::ExportCallbackInput&) {}, wrapper, arguments);
  return result;
}

}  // namespace autoperfect

#include "fuse/fuse.h"

#include <algorithm>
#include <set>

#include "fuse/domain.h"
#include "fuse/grow.h"

namespace autoperfect {
namespace {

// A kernel must promise this much before it is worth generating, compiling and measuring.
constexpr double least_gain = 1.15;
constexpr double least_seconds_saved = 3e-6;

bool is_view(const Graph& graph, NodeId id) {
  return class_of(graph.nodes[id].op) == OpClass::view;
}

// Views at the end of a region cost MLX nothing; they stay with MLX.
void trim_trailing_views(const Graph& graph, const Uses& uses, std::vector<NodeId>& nodes) {
  std::set<NodeId> member(nodes.begin(), nodes.end());
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (!is_view(graph, *it)) continue;
    auto& readers = uses.readers[graph.nodes[*it].results[0]];
    if (std::none_of(readers.begin(), readers.end(), [&](NodeId r) { return member.count(r); }))
      member.erase(*it);
  }
  nodes.assign(member.begin(), member.end());
}

// What the region must hand out: values that others read, views of them seen through.
std::vector<ValueId> find_outputs(const Graph& graph, const Uses& uses, const std::vector<NodeId>& nodes) {
  std::set<NodeId> member(nodes.begin(), nodes.end());
  std::set<ValueId> outputs;
  for (NodeId id : nodes) {
    for (ValueId v : graph.nodes[id].results) {
      auto& readers = uses.readers[v];
      bool outside = uses.is_output[v] ||
                     std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !member.count(r); });
      if (!outside) continue;
      ValueId seen = v;
      while (graph.producer(seen) && member.count(graph.values[seen].producer) &&
             is_view(graph, graph.values[seen].producer))
        seen = graph.producer(seen)->operands[0];
      if (graph.producer(seen) && member.count(graph.values[seen].producer)) outputs.insert(seen);
    }
  }
  return {outputs.begin(), outputs.end()};
}

std::vector<ValueId> find_inputs(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::set<NodeId> member(nodes.begin(), nodes.end());
  std::vector<ValueId> inputs;
  for (NodeId id : nodes) {
    for (ValueId v : graph.nodes[id].operands) {
      NodeId p = graph.values[v].producer;
      if (is_inlined(graph, v) || (p >= 0 && member.count(p))) continue;
      if (std::find(inputs.begin(), inputs.end(), v) == inputs.end()) inputs.push_back(v);
    }
  }
  return inputs;
}

// Views of what the region reads become index maps of its loads, unless the whole is then no longer legal.
void fold_input_views(const Graph& graph, std::vector<NodeId>& nodes) {
  for (bool grew = true; grew;) {
    grew = false;
    for (ValueId v : find_inputs(graph, nodes)) {
      NodeId p = graph.values[v].producer;
      if (p < 0 || !is_view(graph, p)) continue;
      auto with = nodes;
      with.insert(std::lower_bound(with.begin(), with.end(), p), p);
      if (std::holds_alternative<Refusal>(find_domain(graph, with))) continue;
      nodes = std::move(with);
      grew = true;
      break;
    }
  }
}

std::string why_legal(const Graph& graph, const Region& region) {
  int elementwise = 0, reductions = 0, views = 0;
  for (NodeId id : region.nodes) {
    auto op_class = class_of(graph.nodes[id].op);
    elementwise += op_class == OpClass::elementwise;
    reductions += op_class == OpClass::reduction;
    views += op_class == OpClass::view;
  }
  auto count = [](int n, const std::string& what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  std::string text = count(elementwise, "elementwise op");
  if (reductions) text += ", " + count(reductions, "reduction") + " over the same axes";
  if (views) text += ", " + count(views, "view") + " folded into loads";
  return text + "; no barrier between them, every other use is an output";
}

}  // namespace

std::string_view name(RegionKind kind) {
  switch (kind) {
    case RegionKind::elementwise:
      return "elementwise";
    case RegionKind::row_reduction:
      return "row_reduction";
    case RegionKind::full_reduction:
      return "full_reduction";
    case RegionKind::column_reduction:
      return "column_reduction";
  }
  return "";
}

Plan fuse(const Graph& graph, const Target& target, const FuseOptions& options) {
  Growth growth = grow_units(graph);
  Uses uses = find_uses(graph);
  Plan plan;
  plan.stops = std::move(growth.stops);
  for (auto& unit : growth.units) {
    if (!unit.fusable || unit.nodes.empty()) continue;
    Region region;
    region.nodes = std::move(unit.nodes);
    trim_trailing_views(graph, uses, region.nodes);
    fold_input_views(graph, region.nodes);
    bool only_views =
        std::all_of(region.nodes.begin(), region.nodes.end(), [&](NodeId id) { return is_view(graph, id); });
    if (only_views) continue;
    auto domain = find_domain(graph, region.nodes);
    if (auto* refusal = std::get_if<Refusal>(&domain)) {
      plan.stops.push_back({region.nodes.front(), region.nodes.back(), refusal->reason});
      continue;
    }
    region.kind = std::get<Domain>(domain).kind;
    region.outputs = find_outputs(graph, uses, region.nodes);
    region.inputs = find_inputs(graph, region.nodes);
    if (region.outputs.empty()) continue;
    region.cost = cost_of(graph, region.nodes, region.inputs, region.outputs, target);
    region.reason = why_legal(graph, region);
    bool wins = region.cost.unfused_seconds > least_gain * region.cost.fused_seconds &&
                region.cost.unfused_seconds - region.cost.fused_seconds > least_seconds_saved;
    if (wins || !options.gate_by_cost) {
      plan.regions.push_back(std::move(region));
    } else {
      region.reason = "predicted to gain too little over MLX";
      plan.declined.push_back(std::move(region));
    }
  }
  auto by_last_node = [](const Region& a, const Region& b) { return a.nodes.back() < b.nodes.back(); };
  std::stable_sort(plan.regions.begin(), plan.regions.end(), by_last_node);
  return plan;
}

}  // namespace autoperfect

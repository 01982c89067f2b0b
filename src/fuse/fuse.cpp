#include "fuse/fuse.h"

#include <algorithm>
#include <unordered_map>

#include "fuse/finish.h"
#include "fuse/grow.h"
#include "fuse/legal.h"

namespace autoperfect {
namespace {

struct KindName {
  RegionKind kind;
  std::string_view name;
};
constexpr KindName kind_names[] = {
    {RegionKind::elementwise, "elementwise"},
    {RegionKind::row_reduction, "row_reduction"},
    {RegionKind::full_reduction, "full_reduction"},
    {RegionKind::column_reduction, "column_reduction"},
    {RegionKind::scan, "scan"},
    {RegionKind::contraction, "contraction"},
};

std::string why_legal(const Graph& graph, const Region& region) {
  std::vector<std::pair<OpClass, int>> counts;
  for (auto op_class :
       {OpClass::elementwise,
        OpClass::reduction,
        OpClass::scan,
        OpClass::gemm,
        OpClass::indexing,
        OpClass::view})
    counts.push_back({op_class, 0});
  for (NodeId id : region.nodes)
    for (auto& [op_class, n] : counts)
      n += class_of(graph.nodes[id].op) == op_class;
  auto phrase = [](OpClass op_class, int n) -> std::string {
    std::string s = n == 1 ? "" : "s";
    switch (op_class) {
      case OpClass::elementwise:
        return "elementwise op" + s;
      case OpClass::reduction:
        return "reduction" + s + " over the same axes";
      case OpClass::scan:
        return "scan" + s + " along the same axis";
      case OpClass::gemm:
        return "contraction" + s;
      case OpClass::indexing:
        return std::string(n == 1 ? "index map" : "index maps");
      default:
        return "view" + s + " folded into loads";
    }
  };
  std::string text;
  for (auto [op_class, n] : counts)
    if (n > 0) text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + phrase(op_class, n);
  if (!region.recomputed.empty())
    text += ", " + std::to_string(region.recomputed.size()) + " of them computed again rather than read";
  return text + "; no barrier between them, every other use is an output";
}

// Every edge that leaves or enters a region, with the first reason that holds.
std::vector<Stop> find_stops(
    const Graph& graph,
    const Growth& growth,
    const std::vector<Region>& regions,
    const std::vector<std::string>& late_refusals) {
  std::vector<std::vector<int>> regions_of(graph.nodes.size());
  for (size_t r = 0; r < regions.size(); ++r)
    for (NodeId id : regions[r].nodes)
      regions_of[id].push_back(static_cast<int>(r));
  auto fusable = [&](NodeId id) {
    int u = growth.unit_of(id);
    return u < 0 || growth.units()[u].fusable;
  };
  std::vector<Stop> stops;
  for (NodeId c = 0; c < static_cast<NodeId>(graph.nodes.size()); ++c) {
    if (class_of(graph.nodes[c].op) == OpClass::view) continue;
    for (ValueId v : reads_of(graph, growth.flow(), c)) {
      NodeId p = graph.values[v].producer;
      if (p < 0 || (regions_of[p].empty() && regions_of[c].empty())) continue;
      auto together = [&](int r) {
        return std::find(regions_of[p].begin(), regions_of[p].end(), r) != regions_of[p].end();
      };
      if (!regions_of[c].empty() && std::all_of(regions_of[c].begin(), regions_of[c].end(), together))
        continue;
      std::string reason = !fusable(c)                 ? growth.refusal(c)
                           : !fusable(p)               ? growth.refusal(p)
                           : !late_refusals[c].empty() ? late_refusals[c]
                           : !late_refusals[p].empty() ? late_refusals[p]
                                                       : growth.refusal(c);
      if (reason.empty()) reason = "something between the two runs outside of the kernel";
      stops.push_back({p, c, std::move(reason)});
    }
  }
  return stops;
}

}  // namespace

std::string_view name(RegionKind kind) {
  for (auto& known : kind_names)
    if (known.kind == kind) return known.name;
  return "";
}

std::vector<RegionKind> all_region_kinds() {
  std::vector<RegionKind> kinds;
  for (auto& known : kind_names)
    kinds.push_back(known.kind);
  return kinds;
}

Plan fuse(const Graph& graph, const Target& target, const FuseOptions& options) {
  Growth growth(graph, target, options);
  growth.run();
  std::vector<int> order;
  for (size_t u = 0; u < growth.units().size(); ++u)
    if (growth.units()[u].fusable && !growth.units()[u].nodes.empty()) order.push_back(static_cast<int>(u));
  auto rank = [&](int u) { return std::pair(growth.units()[u].level, growth.units()[u].nodes[0]); };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) > rank(b); });
  Findings findings{
      std::vector<std::string>(graph.nodes.size()), std::vector<bool>(graph.values.size(), false)};
  std::vector<Region> found;
  for (int u : order) {
    auto parts = finish(graph, growth, u, options, findings);
    std::move(parts.rbegin(), parts.rend(), std::back_inserter(found));
  }
  std::reverse(found.begin(), found.end());
  Plan plan;
  plan.attentions = recognize_attention(graph);
  plan.stops = find_stops(graph, growth, found, findings.refusals);
  for (auto& region : found) {
    region.cost = cost_of(graph, region.nodes, region.inputs, region.outputs, target);
    region.reason = why_legal(graph, region);
    auto not_worth = options.gate_by_cost ? why_not_worth(region.cost, target) : std::string();
    bool kept = not_worth.empty();
    if (!kept) region.reason = std::move(not_worth);
    (kept ? plan.regions : plan.declined).push_back(std::move(region));
  }
  return plan;
}

}  // namespace autoperfect

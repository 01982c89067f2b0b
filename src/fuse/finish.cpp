#include "fuse/finish.h"

#include <algorithm>
#include <set>

#include "fuse/legal.h"
#include "fuse/trace.h"

namespace autoperfect {
namespace {

class Finisher {
 public:
  Finisher(const Graph& graph, const Growth& growth, int unit, const FuseOptions& options, Findings& findings)
      : graph_(graph), growth_(growth), unit_(unit), options_(options), findings_(findings) {}

  std::vector<Region> run() {
    auto& unit = growth_.units()[unit_];
    std::vector<NodeId> owned;
    std::set_difference(
        unit.nodes.begin(),
        unit.nodes.end(),
        unit.copies.begin(),
        unit.copies.end(),
        std::back_inserter(owned));
    // The part still to do is on top.
    std::vector<std::vector<NodeId>> open{owned};
    while (!open.empty()) {
      auto part = std::move(open.back());
      open.pop_back();
      if (part.empty()) continue;
      auto reason = add(part);
      if (reason.empty()) continue;
      for (NodeId id : part)
        if (findings_.refusals[id].empty()) findings_.refusals[id] = reason;
      auto smaller = cut(part);
      open.insert(open.end(), smaller.rbegin(), smaller.rend());
    }
    return std::move(regions_);
  }

 private:
  std::string add(const std::vector<NodeId>& part);
  std::vector<NodeId> with_copies(const std::vector<NodeId>& part) const;
  std::vector<ValueId> outputs_of(const std::vector<NodeId>& part, const std::vector<NodeId>& nodes) const;
  std::vector<std::vector<NodeId>> cut(const std::vector<NodeId>& part);
  void leave(NodeId id);

  const Graph& graph_;
  const Growth& growth_;
  int unit_;
  const FuseOptions& options_;
  Findings& findings_;
  std::vector<Region> regions_;
};

// What another unit computes as well, as far as this part needs it.
std::vector<NodeId> Finisher::with_copies(const std::vector<NodeId>& part) const {
  auto& copies = growth_.units()[unit_].copies;
  std::set<NodeId> nodes(part.begin(), part.end());
  std::vector<NodeId> open = part;
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    for (ValueId v : reads_of(graph_, growth_.flow(), id)) {
      NodeId p = graph_.values[v].producer;
      if (std::binary_search(copies.begin(), copies.end(), p) && nodes.insert(p).second) open.push_back(p);
    }
  }
  return {nodes.begin(), nodes.end()};
}

std::vector<ValueId> Finisher::outputs_of(
    const std::vector<NodeId>& part, const std::vector<NodeId>& nodes) const {
  auto& unit = growth_.units()[unit_];
  auto outside = growth_.outputs_of(unit_);
  std::vector<ValueId> outputs;
  for (NodeId id : part) {
    ValueId v = graph_.nodes[id].results[0];
    auto& readers = growth_.flow().readers[v];
    bool read = std::any_of(readers.begin(), readers.end(), [&](NodeId r) {
      return std::binary_search(unit.nodes.begin(), unit.nodes.end(), r) &&
             !std::binary_search(nodes.begin(), nodes.end(), r);
    });
    bool wanted = read || findings_.needed[v] || std::binary_search(outside.begin(), outside.end(), v);
    if (wanted) outputs.push_back(v);
  }
  std::sort(outputs.begin(), outputs.end());
  return outputs;
}

std::string Finisher::add(const std::vector<NodeId>& part) {
  Region region;
  region.nodes = with_copies(part);
  region.outputs = outputs_of(part, region.nodes);
  if (region.outputs.empty()) return "";
  auto traced = trace(graph_, region.nodes, region.outputs);
  if (auto* refusal = std::get_if<Refusal>(&traced)) return refusal->reason;
  auto& found = std::get<Trace>(traced);
  if (found.inputs.size() > most_buffers)
    return "the kernel would read over " + std::to_string(most_buffers) + " buffers";
  region.kind = found.kind;
  region.inputs = found.inputs;
  // What makes no output has no instance.
  std::set<NodeId> live;
  for (auto& instance : found.instances)
    live.insert(instance.node);
  region.nodes.assign(live.begin(), live.end());
  std::set_difference(
      region.nodes.begin(),
      region.nodes.end(),
      part.begin(),
      part.end(),
      std::back_inserter(region.recomputed));
  region.nodes.insert(region.nodes.end(), found.views.begin(), found.views.end());
  std::sort(region.nodes.begin(), region.nodes.end());
  if (options_.can_generate && !options_.can_generate(graph_, region))
    return "no kernel can be generated for it";
  regions_.push_back(std::move(region));
  return "";
}

// To MLX, which reads memory: what only copies computed it computes itself.
void Finisher::leave(NodeId id) {
  std::vector<NodeId> open{id};
  while (!open.empty()) {
    NodeId next = open.back();
    open.pop_back();
    for (ValueId v : reads_of(graph_, growth_.flow(), next)) {
      if (findings_.needed[v]) continue;
      findings_.needed[v] = true;
      NodeId p = graph_.values[v].producer;
      if (p >= 0 && growth_.unit_of(p) < 0) open.push_back(p);
    }
  }
}

// Around what is neither elementwise nor a reduction, which then stays with MLX; without any, in halves.
// Parts are runs in the order of the graph, so none waits for a later one.
std::vector<std::vector<NodeId>> Finisher::cut(const std::vector<NodeId>& part) {
  std::vector<std::vector<NodeId>> parts(1);
  bool special = false;
  for (NodeId id : part) {
    auto op_class = class_of(graph_.nodes[id].op);
    if (op_class == OpClass::elementwise || op_class == OpClass::reduction) {
      parts.back().push_back(id);
    } else {
      special = true;
      leave(id);
      parts.emplace_back();
    }
  }
  if (special) return parts;
  if (part.size() == 1) return leave(part[0]), decltype(parts){};
  auto middle = part.begin() + static_cast<int64_t>(part.size() / 2);
  return {{part.begin(), middle}, {middle, part.end()}};
}

}  // namespace

std::vector<Region> finish(
    const Graph& graph, const Growth& growth, int unit, const FuseOptions& options, Findings& findings) {
  return Finisher(graph, growth, unit, options, findings).run();
}

}  // namespace autoperfect

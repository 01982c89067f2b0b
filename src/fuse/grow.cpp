#include "fuse/grow.h"

#include <algorithm>

#include "cost/weight.h"
#include "fuse/legal.h"
#include "fuse/trace.h"
#include "ir/constant_nodes.h"

namespace autoperfect {
namespace {

template <typename T>
std::vector<T> merged(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> both;
  both.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace

Growth::Growth(const Graph& graph, const Target& target, const FuseOptions& options)
    : graph_(graph),
      target_(target),
      options_(options),
      uses_(find_uses(graph)),
      flow_(graph),
      is_constant_(find_constant_nodes(graph)),
      unit_of_(graph.nodes.size(), -1),
      copied_to_(graph.nodes.size()),
      refusals_(graph.nodes.size()) {}

void Growth::run() {
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id)
    place(id);
  sink();
  if (options_.recompute) recompute();
  join_readers();
  delay_levels();
  join_readers();
  join_alike();
}

bool Growth::contains(int unit, NodeId node) const {
  return std::binary_search(units_[unit].nodes.begin(), units_[unit].nodes.end(), node);
}

std::vector<int> Growth::reader_units(ValueId value) const {
  std::vector<int> found;
  NodeId producer = graph_.values[value].producer;
  auto note = [&](int u) {
    if (u >= 0 && !(producer >= 0 && contains(u, producer))) found.push_back(u);
  };
  for (NodeId reader : flow_.readers[value]) {
    note(unit_of_[reader]);
    for (int u : copied_to_[reader])
      note(u);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<ValueId> Growth::unit_reads(int unit) const {
  std::vector<ValueId> reads;
  for (NodeId id : units_[unit].nodes)
    for (ValueId v : reads_of(graph_, flow_, id)) {
      NodeId p = graph_.values[v].producer;
      if (p < 0 || !contains(unit, p)) reads.push_back(v);
    }
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  return reads;
}

std::vector<ValueId> Growth::outputs_of(int unit) const {
  std::vector<ValueId> outputs;
  auto& copies = units_[unit].copies;
  for (NodeId id : units_[unit].nodes) {
    if (std::binary_search(copies.begin(), copies.end(), id)) continue;
    for (ValueId v : graph_.nodes[id].results)
      if (flow_.is_output[v] || !reader_units(v).empty()) outputs.push_back(v);
  }
  std::sort(outputs.begin(), outputs.end());
  return outputs;
}

// Everything it reads has its shape, or is a scalar; nothing is a view.
bool Growth::is_plain(NodeId id) const {
  const Node& node = graph_.nodes[id];
  if (class_of(node.op) != OpClass::elementwise) return false;
  auto& shape = graph_.type(node.results[0]).shape;
  return std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId v) {
    bool scalar = is_inlined(graph_, v) && graph_.type(v).rank() == 0;
    return scalar || (!is_inlined(graph_, v) && flow_.base[v] == v && graph_.type(v).shape == shape);
  });
}

// While regions grow only what nobody in them reads counts as an output: what is still to come may read the
// rest. Except around a contraction, whose operands cannot be handed out as well.
std::string Growth::why_not(const std::vector<NodeId>& nodes) const {
  if (nodes.size() > static_cast<size_t>(options_.most_ops))
    return "the kernel would hold over " + std::to_string(options_.most_ops) + " ops";
  std::vector<ValueId> outputs;
  bool contracts = std::any_of(
      nodes.begin(), nodes.end(), [&](NodeId id) { return class_of(graph_.nodes[id].op) == OpClass::gemm; });
  for (NodeId id : nodes) {
    for (ValueId v : graph_.nodes[id].results) {
      auto& readers = flow_.readers[v];
      auto inside = [&](NodeId r) { return std::binary_search(nodes.begin(), nodes.end(), r); };
      bool read = contracts ? std::all_of(readers.begin(), readers.end(), inside)
                            : std::any_of(readers.begin(), readers.end(), inside);
      if (!read || readers.empty() || flow_.is_output[v]) outputs.push_back(v);
    }
  }
  std::sort(outputs.begin(), outputs.end());
  auto traced = trace(graph_, nodes, outputs);
  if (auto* refusal = std::get_if<Refusal>(&traced)) return refusal->reason;
  if (std::get<Trace>(traced).inputs.size() > most_buffers)
    return "the kernel would read over " + std::to_string(most_buffers) + " buffers";
  return "";
}

Unit Growth::union_of(const Unit& a, const Unit& b) const {
  Unit together;
  together.nodes = merged(a.nodes, b.nodes);
  auto shape = [&](const Unit& u) { return graph_.type(graph_.nodes[u.nodes[0]].results[0]).shape; };
  together.plain = a.plain && b.plain && shape(a) == shape(b);
  for (ValueId v : merged(a.reads, b.reads)) {
    NodeId p = graph_.values[v].producer;
    if (p < 0 || !std::binary_search(together.nodes.begin(), together.nodes.end(), p))
      together.reads.push_back(v);
  }
  return together;
}

// An elementwise op on the one result of a legal unit: it takes that result's place as what is handed out.
bool Growth::extends(const Unit& unit, NodeId id) const {
  const Node& node = graph_.nodes[id];
  if (class_of(node.op) != OpClass::elementwise) return false;
  auto& shape = graph_.type(node.results[0]).shape;
  ValueId result = -1;
  for (ValueId v : node.operands) {
    if (flow_.base[v] != v || (is_inlined(graph_, v) && graph_.type(v).rank() > 0)) return false;
    NodeId p = graph_.values[v].producer;
    if (p < 0 || !std::binary_search(unit.nodes.begin(), unit.nodes.end(), p)) continue;
    if ((result >= 0 && result != v) || graph_.type(v).shape != shape) return false;
    result = v;
  }
  if (result < 0) return false;
  return std::none_of(flow_.readers[result].begin(), flow_.readers[result].end(), [&](NodeId r) {
    return std::binary_search(unit.nodes.begin(), unit.nodes.end(), r);
  });
}

std::string Growth::why_not(const Unit& unit) const {
  return unit.plain ? why_too_large(unit) : why_not(unit.nodes);
}

std::string Growth::why_too_large(const Unit& unit) const {
  if (unit.nodes.size() > static_cast<size_t>(options_.most_ops))
    return "the kernel would hold over " + std::to_string(options_.most_ops) + " ops";
  if (unit.reads.size() > most_buffers)
    return "the kernel would read over " + std::to_string(most_buffers) + " buffers";
  return "";
}

// Whether the union may have a penalty: of rows that leave the cache between sweeps, or of values that
// registers do not hold. The latter grows slowly, so a unit that takes one op after the other is asked now
// and then.
bool Growth::may_lose(const std::vector<int>& units, const Unit& together) const {
  bool wide_rows = std::any_of(together.nodes.begin(), together.nodes.end(), [&](NodeId id) {
    const Node& node = graph_.nodes[id];
    if (class_of(node.op) != OpClass::reduction) return false;
    auto& read = graph_.type(node.operands[0]);
    return 2 * read.bytes() / std::max<int64_t>(1, graph_.type(node.results[0]).elements()) >
           target_.l2_bytes;
  });
  constexpr size_t now_and_then = 16;
  bool by_one = units.size() == 2 && units_[units.back()].nodes.size() == 1;
  if (by_one && together.nodes.size() % now_and_then != 0) return wide_rows;
  return wide_rows || together.nodes.size() > static_cast<size_t>(target_.vector_registers);
}

std::string Growth::why_no_gain(const std::vector<int>& units, const Unit& together) const {
  if (!options_.gate_by_cost || !may_lose(units, together)) return "";
  std::vector<std::vector<NodeId>> parts;
  for (int u : units)
    parts.push_back(units_[u].nodes);
  auto gain = merge_gain(graph_, uses_, parts, target_);
  if (!gain.refusal.empty() || gain.worth()) return gain.refusal;
  return "the kernel would lose more to spilled values and rows read again than it saves";
}

void Growth::absorb(int into, int from, Unit together) {
  auto& target = units_[into];
  auto& source = units_[from];
  for (NodeId id : source.nodes) {
    if (unit_of_[id] == from) unit_of_[id] = into;
    auto& copies = copied_to_[id];
    bool copied = std::find(copies.begin(), copies.end(), from) != copies.end();
    std::erase(copies, from);
    if (copied && std::find(copies.begin(), copies.end(), into) == copies.end()) copies.push_back(into);
  }
  together.copies = merged(target.copies, source.copies);
  for (NodeId id : together.nodes)
    if (unit_of_[id] == into) std::erase(copied_to_[id], into);
  std::erase_if(together.copies, [&](NodeId id) { return unit_of_[id] == into; });
  together.level = target.level;
  target = std::move(together);
  source = Unit{};
}

bool Growth::merge(int into, int from) {
  Unit together = union_of(units_[into], units_[from]);
  if (!why_not(together).empty() || !why_no_gain({into, from}, together).empty()) return false;
  absorb(into, from, std::move(together));
  return true;
}

void Growth::start(NodeId id, int level, bool fusable) {
  unit_of_[id] = static_cast<int>(units_.size());
  Unit unit;
  unit.nodes = {id};
  unit.level = level;
  unit.fusable = fusable;
  unit.plain = fusable && is_plain(id);
  unit.reads = reads_of(graph_, flow_, id);
  std::sort(unit.reads.begin(), unit.reads.end());
  units_.push_back(std::move(unit));
}

void Growth::place(NodeId id) {
  const Node& node = graph_.nodes[id];
  if (class_of(node.op) == OpClass::view) return;
  if (!node.results.empty() && is_inlined(graph_, node.results[0])) return;
  int level = -1;
  std::vector<int> latest;
  for (ValueId v : node.operands) {
    NodeId p = graph_.values[flow_.base[v]].producer;
    int u = p < 0 ? -1 : unit_of_[p];
    if (u < 0 || units_[u].level < level) continue;
    if (units_[u].level > level) latest.clear();
    level = units_[u].level;
    latest.push_back(u);
  }
  std::sort(latest.begin(), latest.end());
  latest.erase(std::unique(latest.begin(), latest.end()), latest.end());
  auto& reason = refusals_[id];
  if (std::binary_search(options_.in_library.begin(), options_.in_library.end(), id))
    reason = "runs as fast.scaled_dot_product_attention";
  if (reason.empty()) reason = why_not_fusable(graph_, id);
  if (reason.empty() && class_of(node.op) == OpClass::gemm && !target_.contracts)
    reason = "matrix products stay with MLX's library on this machine";
  bool scatters = node.op == Op::scatter || node.op == Op::scatter_axis;
  if (reason.empty() && scatters && options_.gate_by_cost) {
    reason = why_not_pulled(graph_, node, target_);
    if (!reason.empty()) reason = std::string(name(node.op)) + " " + reason;
  }
  if (reason.empty() && is_constant_[id] && weight_of(node.op) > Weight::light)
    reason = std::string(name(node.op)) + " of constants is computed once, when the program is built";
  if (reason.empty() && class_of(node.op) != OpClass::elementwise) reason = why_not({id});
  if (!reason.empty()) return start(id, level + 1, false);
  start(id, level + 1, true);
  bool after_boundary = std::any_of(latest.begin(), latest.end(), [&](int u) { return !units_[u].fusable; });
  if (!latest.empty() && !after_boundary) reason = join(unit_of_[id], latest);
}

// Into all of them or into none: into one alone it would have to wait for the others.
std::string Growth::join(int unit, const std::vector<int>& latest) {
  if (latest.size() > static_cast<size_t>(options_.most_ops))
    return "the kernel would hold over " + std::to_string(options_.most_ops) + " ops";
  Unit together = units_[unit];
  for (int u : latest)
    together = union_of(units_[u], together);
  bool extended = latest.size() == 1 && extends(units_[latest[0]], units_[unit].nodes[0]);
  auto reason = extended ? why_too_large(together) : why_not(together);
  if (reason.empty() && !extended) {
    auto parts = latest;
    parts.push_back(unit);
    reason = why_no_gain(parts, together);
  }
  if (!reason.empty()) return reason;
  for (size_t k = 1; k < latest.size(); ++k)
    absorb(latest[0], latest[k], {});
  absorb(latest[0], unit, std::move(together));
  return "";
}

// A unit moves into the first of its readers when all others come later: nothing between can wait for both.
void Growth::sink() {
  for (int u = static_cast<int>(units_.size()) - 1; u >= 0; --u) {
    if (!units_[u].fusable || units_[u].nodes.empty()) continue;
    std::vector<int> readers;
    for (NodeId id : units_[u].nodes) {
      auto more = reader_units(graph_.nodes[id].results[0]);
      readers = merged(readers, more);
    }
    if (readers.empty()) continue;
    auto by_level = [&](int a, int b) { return units_[a].level < units_[b].level; };
    int first = *std::min_element(readers.begin(), readers.end(), by_level);
    bool alone = std::count_if(readers.begin(), readers.end(), [&](int r) {
                   return units_[r].level == units_[first].level;
                 }) == 1;
    if (alone && units_[first].fusable) merge(first, u);
  }
}

}  // namespace autoperfect

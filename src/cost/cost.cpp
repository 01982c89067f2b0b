#include "cost/cost.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "cost/bytes.h"
#include "cost/footprint.h"
#include "cost/mlx_cost.h"
#include "cost/weight.h"
#include "ir/landings.h"

namespace autoperfect {
namespace {

constexpr double least_gain = 1.15;           // a kernel must promise this much to be worth measuring,
constexpr double least_seconds_saved = 3e-6;  // and this
constexpr double least_gain_of_gemm = 1.03;   // where the time is that of a matrix product
constexpr double grain = 16384;               // instructions a thread must have to be woken up
constexpr int followed_streams = 16;          // by the prefetchers of a core

// A scatter compares, combines and chooses, update by update.
double instructions_for_element(const Graph& graph, const Node& node, Dtype worked) {
  const double each = instructions_of(node.op, worked);
  if (node.op != Op::scatter && node.op != Op::scatter_axis) return each;
  return each * (node.attributes.has("reduce") ? 3.0 : 2.0) *
         static_cast<double>(landings_of(graph, node).updates);
}

// A region as the cost functions see it: bytes and flops of its kernel, MLX's seconds for its ops.
class Pricer {
 public:
  Pricer(
      const Graph& graph,
      const std::vector<NodeId>& nodes,
      const std::vector<ValueId>& inputs,
      const std::vector<ValueId>& outputs,
      const Target& target)
      : graph_(graph), nodes_(nodes), inputs_(inputs), outputs_(outputs), target_(target) {}

  RegionCost run() {
    cost_.footprint = footprint_of(graph_, nodes_, inputs_, outputs_);
    add_traffic();
    for (NodeId id : nodes_)
      add_node(graph_.nodes[id]);
    find_seconds();
    return cost_;
  }

 private:
  void add_traffic() {
    std::unordered_map<ValueId, double> touched;
    for (NodeId id : nodes_)
      for (ValueId v : graph_.nodes[id].operands)
        touched[v] += touched_bytes(graph_, graph_.nodes[id], v);
    for (ValueId v : inputs_) {
      auto found = touched.find(v);
      double all = bytes_of(graph_.type(v));
      read_ += found == touched.end() ? all : std::min(all, found->second);
    }
    for (ValueId v : outputs_)
      written_ += bytes_of(graph_.type(v));
    const Footprint& footprint = cost_.footprint;
    if (footprint.sweeps > 1 && 2 * footprint.row_bytes > target_.l2_bytes)
      reread_ = (footprint.sweeps - 1) * read_;
  }

  void add_node(const Node& node) {
    if (weight_of(node.op) == Weight::free || node.results.empty()) return;
    const TensorType& made = graph_.type(node.results[0]);
    double unfused = 0;
    for (ValueId v : node.operands)
      unfused += bytes_of(graph_.type(v));
    for (ValueId v : node.results)
      unfused += bytes_of(graph_.type(v));
    unfused_bytes_ += unfused;
    bool reads = class_of(node.op) == OpClass::reduction || class_of(node.op) == OpClass::scan;
    const TensorType& worked = reads ? graph_.type(node.operands[0]) : made;
    double elements = bytes_of(worked) / size_of(worked.dtype);
    // Doing without the store of an intermediate does not make MLX's next op cheaper, so donation matters
    // little but for the faults of fresh memory.
    bool fresh = bytes_of(made) > static_cast<double>(target_.mlx.kept_bytes);
    cost_.unfused_seconds += mlx_seconds(graph_, node, fresh && !donated(node), target_);
    if (class_of(node.op) == OpClass::gemm) {
      cost_.contraction_flops += contraction_flops(graph_, node);
    } else {
      instructions_ += elements * instructions_for_element(graph_, node, worked.dtype);
    }
    widest_ = std::max(widest_, elements);
  }

  // An elementwise op over an intermediate of this region writes in place.
  bool donated(const Node& node) const {
    if (class_of(node.op) != OpClass::elementwise) return false;
    return std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId v) {
      NodeId p = graph_.values[v].producer;
      return p >= 0 && std::binary_search(nodes_.begin(), nodes_.end(), p) &&
             weight_of(graph_.nodes[p].op) != Weight::free &&
             bytes_of(graph_.type(v)) == bytes_of(graph_.type(node.results[0]));
    });
  }

  void find_seconds() {
    const Target& t = target_;
    double moved = read_ + written_ + reread_;
    double speed =
        moved < static_cast<double>(t.l3_bytes) ? t.cache_bytes_per_second : t.copy_bytes_per_second;
    int streams = cost_.footprint.buffers;
    double crowding = streams > followed_streams ? static_cast<double>(streams) / followed_streams : 1;
    cost_.memory_seconds = moved / speed * crowding;
    double instructions_per_second = t.flops_per_second / 2;
    double threads = std::clamp(instructions_ / grain, 1.0, static_cast<double>(t.threads)) / t.threads;
    int spilled = std::max(0, cost_.footprint.live_vectors - t.vector_registers);
    cost_.spill_seconds = 2 * spilled * widest_ / (instructions_per_second * threads);
    cost_.compute_seconds = instructions_ / (instructions_per_second * threads) + cost_.spill_seconds +
                            cost_.contraction_flops / (t.flops_per_second * t.gemm_share);
    cost_.flops = instructions_ + cost_.contraction_flops;
    double work = std::max(cost_.memory_seconds, cost_.compute_seconds);
    cost_.fused_seconds = t.launch_seconds + work;
    cost_.bound = work < t.launch_seconds                        ? Bound::launch
                  : cost_.compute_seconds > cost_.memory_seconds ? Bound::compute
                                                                 : Bound::memory;
    cost_.bytes_read = to_count(read_);
    cost_.bytes_written = to_count(written_);
    cost_.bytes_reread = to_count(reread_);
    cost_.bytes_saved = to_count(std::max(0.0, unfused_bytes_ - read_ - written_));
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const std::vector<ValueId>& inputs_;
  const std::vector<ValueId>& outputs_;
  const Target& target_;
  RegionCost cost_;
  double read_ = 0, written_ = 0, reread_ = 0, unfused_bytes_ = 0, instructions_ = 0, widest_ = 0;
};

// A set of nodes with what it reads and hands out, views seen through, for merge_gain.
class NodeSet {
 public:
  NodeSet(const Graph& graph, const Uses& uses, const std::vector<NodeId>& nodes)
      : graph_(graph), uses_(uses), nodes_(nodes), member_(nodes.begin(), nodes.end()) {}

  RegionCost cost(const Target& target) const {
    std::vector<ValueId> inputs, outputs;
    std::unordered_set<ValueId> seen;
    for (NodeId id : nodes_) {
      for (ValueId v : graph_.nodes[id].operands) {
        ValueId base = base_of(v);
        NodeId p = graph_.values[base].producer;
        bool inlined = p >= 0 && class_of(graph_.nodes[p].op) == OpClass::source;
        if (!inlined && !member_.count(p) && seen.insert(base).second) inputs.push_back(base);
      }
      for (ValueId v : graph_.nodes[id].results)
        if (is_read_outside(v)) outputs.push_back(v);
    }
    return cost_of(graph_, nodes_, inputs, outputs, target);
  }

 private:
  bool is_folded_view(NodeId node) const {
    return node >= 0 && !member_.count(node) && class_of(graph_.nodes[node].op) == OpClass::view;
  }

  ValueId base_of(ValueId v) const {
    while (is_folded_view(graph_.values[v].producer))
      v = graph_.producer(v)->operands[0];
    return v;
  }

  bool is_read_outside(ValueId value) const {
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      ValueId v = open.back();
      open.pop_back();
      if (uses_.is_output[v]) return true;
      for (NodeId reader : uses_.readers[v]) {
        if (is_folded_view(reader)) {
          open.push_back(graph_.nodes[reader].results[0]);
        } else if (!member_.count(reader)) {
          return true;
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  const Uses& uses_;
  const std::vector<NodeId>& nodes_;
  std::unordered_set<NodeId> member_;
};

// The parts of a kernel's time that a smaller one would not have: one's gain in one of them does not excuse
// another.
struct Penalties {
  double spills = 0, sweeps = 0, streams = 0;

  void add(const RegionCost& cost, const Target& target) {
    spills += cost.spill_seconds;
    sweeps += static_cast<double>(cost.bytes_reread) / target.copy_bytes_per_second;
    int buffers = cost.footprint.buffers;
    if (buffers > followed_streams)
      streams += cost.memory_seconds * (1 - static_cast<double>(followed_streams) / buffers);
  }

  double beyond(const Penalties& apart) const {
    return std::max(0.0, spills - apart.spills) + std::max(0.0, sweeps - apart.sweeps) +
           std::max(0.0, streams - apart.streams);
  }
};

}  // namespace

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::launch:
      return "launch";
    case Bound::memory:
      return "memory";
    case Bound::compute:
      return "compute";
  }
  return "";
}

RegionCost cost_of(
    const Graph& graph,
    const std::vector<NodeId>& nodes,
    const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs,
    const Target& target) {
  return Pricer(graph, nodes, inputs, outputs, target).run();
}

std::string why_not_pulled(const Graph& graph, const Node& scatter, const Target& target) {
  const TensorType& made = graph.type(scatter.results[0]);
  const double instructions =
      static_cast<double>(made.elements()) * instructions_for_element(graph, scatter, made.dtype);
  const bool fresh = bytes_of(made) > static_cast<double>(target.mlx.kept_bytes);
  if (instructions / (target.flops_per_second / 2) <= mlx_seconds(graph, scatter, fresh, target)) return "";
  return "has each of " + std::to_string(made.elements()) + " elements look at " +
         std::to_string(landings_of(graph, scatter).updates) + " updates, which takes longer than MLX's copy";
}

std::string why_not_worth(const RegionCost& cost, const Target&) {
  double gain = cost.unfused_seconds / cost.fused_seconds;
  if (cost.contraction_flops > 0 && cost.bound == Bound::compute) {
    if (gain >= least_gain_of_gemm) return "";
    return "bound by its matrix product, which fusing moves by under 3%";
  }
  bool wins = gain > least_gain && cost.unfused_seconds - cost.fused_seconds > least_seconds_saved;
  return wins ? "" : "predicted to gain too little over MLX";
}

MergeGain merge_gain(
    const Graph& graph,
    const Uses& uses,
    const std::vector<std::vector<NodeId>>& parts,
    const Target& target) {
  MergeGain result;
  std::vector<NodeId> all;
  double apart = 0;
  Penalties penalties_apart, penalties_together;
  for (const auto& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
    RegionCost cost = NodeSet(graph, uses, part).cost(target);
    apart += cost.fused_seconds;
    penalties_apart.add(cost, target);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  RegionCost merged = NodeSet(graph, uses, all).cost(target);
  result.refusal = why_too_large(merged.footprint, target);
  penalties_together.add(merged, target);
  result.penalty_seconds = penalties_together.beyond(penalties_apart);
  result.gain_seconds = apart - merged.fused_seconds + result.penalty_seconds;
  return result;
}

}  // namespace autoperfect

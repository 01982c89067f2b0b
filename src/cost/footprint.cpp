#include "cost/footprint.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "cost/bytes.h"
#include "cost/weight.h"

namespace autoperfect {
namespace {

constexpr int most_ops = 512;      // a compiler takes seconds from here on
constexpr int most_buffers = 64;   // pointers and strides no longer fit any registers
constexpr int spills_allowed = 4;  // times the vector registers

// Facts of a value inside the region.
struct Fact {
  int level = 0;        // reductions on the way to it
  size_t last_use = 0;  // position of the node that reads it last
  double elements = 0;
};

class Measurer {
 public:
  Measurer(const Graph& graph, const std::vector<NodeId>& nodes) : graph_(graph), nodes_(nodes) {}

  void run(Footprint& footprint) {
    for (size_t at = 0; at < nodes_.size(); ++at)
      visit(graph_.nodes[nodes_[at]], at, footprint);
    footprint.sweeps = 1 + deepest_;
    footprint.row_bytes = deepest_ > 0 ? to_count(row_bytes_) : 0;
    count_live(footprint);
  }

 private:
  void visit(const Node& node, size_t at, Footprint& footprint) {
    if (node.results.empty()) return;
    int level = 0;
    for (ValueId v : node.operands) {
      auto found = facts_.find(seen_through(v));
      if (found == facts_.end()) continue;
      level = std::max(level, found->second.level);
      found->second.last_use = at;
    }
    bool reduces = class_of(node.op) == OpClass::reduction;
    const TensorType& made = graph_.type(node.results[0]);
    double elements = bytes_of(made) / size_of(made.dtype);
    if (reduces) add_row(node, level, elements);
    // Work over whole rows that waits for a reduction is another sweep over them.
    double worked =
        reduces ? bytes_of(graph_.type(node.operands[0])) / size_of(graph_.type(node.operands[0]).dtype)
                : elements;
    if (level > 0 && worked > reduced_elements_) deepest_ = std::max(deepest_, level);
    for (ValueId v : node.results)
      facts_[v] = {level + reduces, at, elements};
    if (weight_of(node.op) != Weight::free) ++footprint.ops;
  }

  // A view between the nodes may have been left out of them.
  ValueId seen_through(ValueId v) const {
    while (!facts_.count(v) && graph_.producer(v) && class_of(graph_.producer(v)->op) == OpClass::view)
      v = graph_.producer(v)->operands[0];
    return v;
  }

  // What a reduction reads for one result: the rows, or everything when it runs over the outer axes.
  void add_row(const Node& node, int level, double results) {
    const TensorType& read = graph_.type(node.operands[0]);
    bool rows = true;
    if (auto* axes = node.attributes.find("axes")) {
      const auto& list = std::get<std::vector<int64_t>>(*axes);
      rows = !list.empty() && list.back() + 1 == read.rank();
    }
    double bytes = bytes_of(read) / (rows ? std::max(1.0, results) : 1.0);
    row_bytes_ = std::max(row_bytes_, bytes);
    if (level == 0) reduced_elements_ = std::max(reduced_elements_, results);
  }

  // Only values of the loop over whole rows stay in registers of it; the others wait in memory.
  void count_live(Footprint& footprint) const {
    double widest = 0;
    for (const auto& [v, fact] : facts_)
      widest = std::max(widest, fact.elements);
    std::vector<int> change(nodes_.size() + 1, 0);
    for (size_t at = 0; at < nodes_.size(); ++at) {
      const Node& node = graph_.nodes[nodes_[at]];
      for (ValueId v : node.results) {
        const Fact& fact = facts_.at(v);
        if (fact.elements < widest || weight_of(node.op) == Weight::free || fact.last_use <= at) continue;
        ++change[at];
        --change[fact.last_use];
      }
    }
    int live = 0;
    for (int step : change)
      footprint.live_vectors = std::max(footprint.live_vectors, live += step);
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  std::unordered_map<ValueId, Fact> facts_;
  int deepest_ = 0;
  double row_bytes_ = 0, reduced_elements_ = 0;
};

}  // namespace

int64_t to_count(double bytes) {
  constexpr double most = 9.2e18;
  return bytes >= most ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(bytes);
}

Footprint footprint_of(
    const Graph& graph,
    const std::vector<NodeId>& nodes,
    const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs) {
  Footprint footprint;
  footprint.buffers = static_cast<int>(inputs.size() + outputs.size());
  Measurer(graph, nodes).run(footprint);
  return footprint;
}

std::string why_too_large(const Footprint& footprint, const Target& target) {
  if (footprint.buffers > most_buffers)
    return "the kernel would read and write over " + std::to_string(most_buffers) + " buffers";
  if (footprint.ops > most_ops) return "the kernel would hold over " + std::to_string(most_ops) + " ops";
  int most_vectors = spills_allowed * target.vector_registers;
  if (footprint.live_vectors > most_vectors)
    return "the kernel would keep over " + std::to_string(most_vectors) + " values at once, and spill";
  return "";
}

}  // namespace autoperfect

// The invariants of a plan. verify() reports every violation:
//
//  1. A region's nodes exist and ascend, have one result each, and are at least one that is no view. Those it
//     recomputes are among them.
//  2. Apart from views and from what is recomputed, a node is in one region at most.
//  3. A value is an output of one region at most, and of the one that computes it for others.
//  4. What a region's nodes read is computed by it, written into its kernel, or among its inputs, seen
//  through
//     the region's own views; it has no other inputs. (Of a concatenation or gather it may read only a part.)
//  5. Executed for what the graph returns, each region one step and every other node one of MLX's: what a
//  step
//     reads is an input of the graph, a region's output, or made by MLX, and no step waits for itself.
//  6. The regions stand in an order in which they can run.
#include <algorithm>
#include <set>

#include "fuse/flow.h"
#include "fuse/fuse.h"
#include "fuse/legal.h"

namespace autoperfect {
namespace {

class PlanVerifier {
 public:
  PlanVerifier(const Graph& graph, const Plan& plan)
      : graph_(graph),
        plan_(plan),
        flow_(graph),
        owner_(graph.nodes.size(), -1),
        maker_(graph.values.size(), -1) {}

  std::vector<Diagnostic> run() {
    for (size_t r = 0; r < plan_.regions.size(); ++r)
      if (!check_nodes(static_cast<int>(r))) return std::move(found_);
    for (auto& region : plan_.regions)
      check_reads(region);
    execute();
    return std::move(found_);
  }

 private:
  void report(const char* code, std::string message) {
    found_.push_back({"fuse", code, std::move(message), {}, ""});
  }
  std::string called(ValueId v) const { return "%" + graph_.values[v].name; }
  static bool has(const std::vector<NodeId>& nodes, NodeId id) {
    return std::binary_search(nodes.begin(), nodes.end(), id);
  }
  bool view(NodeId id) const { return class_of(graph_.nodes[id].op) == OpClass::view; }

  bool check_nodes(int r);
  void check_reads(const Region& region);
  std::vector<ValueId> reads_of_step(int step) const;
  int step_of(ValueId value);
  void execute();

  const Graph& graph_;
  const Plan& plan_;
  Flow flow_;
  std::vector<int> owner_;  // per node: the region that computes it for others
  std::vector<int> maker_;  // per value: the region it is an output of
  std::vector<Diagnostic> found_;
};

bool PlanVerifier::check_nodes(int r) {
  auto& region = plan_.regions[r];
  auto exists = [&](NodeId id) { return id >= 0 && id < static_cast<NodeId>(graph_.nodes.size()); };
  bool good = !region.nodes.empty() && std::all_of(region.nodes.begin(), region.nodes.end(), exists) &&
              std::is_sorted(region.nodes.begin(), region.nodes.end(), std::less_equal<NodeId>());
  if (!good) return report("bad-nodes", "the nodes of a region are none, unknown or not in order"), false;
  for (NodeId id : region.recomputed)
    if (!has(region.nodes, id)) report("not-a-node", "a region recomputes what it does not hold");
  if (std::all_of(region.nodes.begin(), region.nodes.end(), [&](NodeId id) { return view(id); }))
    report("only-views", "a region computes nothing");
  for (NodeId id : region.nodes) {
    if (graph_.nodes[id].results.size() != 1)
      return report("many-results", "a node of a region has several results"), false;
    bool copied =
        std::find(region.recomputed.begin(), region.recomputed.end(), id) != region.recomputed.end();
    if (view(id) || copied) continue;
    if (owner_[id] >= 0) report("in-two-regions", called(graph_.nodes[id].results[0]) + " is in two regions");
    owner_[id] = r;
  }
  for (ValueId v : region.outputs) {
    NodeId p = graph_.values[v].producer;
    if (p < 0 || owner_[p] != r)
      report("not-computed", called(v) + " is an output of a region that does not compute it for others");
    if (maker_[v] >= 0) report("made-twice", called(v) + " is an output of two regions");
    maker_[v] = r;
  }
  return true;
}

void PlanVerifier::check_reads(const Region& region) {
  std::set<ValueId> stated(region.inputs.begin(), region.inputs.end()), seen;
  for (NodeId id : region.nodes) {
    if (view(id)) continue;
    for (ValueId v : graph_.nodes[id].operands) {
      seen.insert(v);
      bool given = stated.count(v);
      while (is_view(graph_, v) && has(region.nodes, graph_.values[v].producer)) {
        v = graph_.producer(v)->operands[0];
        seen.insert(v);
        given |= stated.count(v);
      }
      NodeId p = graph_.values[v].producer;
      bool made = is_inlined(graph_, v) || (p >= 0 && has(region.nodes, p));
      bool unread = class_of(graph_.nodes[id].op) == OpClass::indexing;
      if (!given && !made && !unread)
        report("not-an-input", called(v) + " is read by a region and no input of it");
    }
  }
  for (ValueId v : stated)
    if (!seen.count(v)) report("not-read", called(v) + " is an input of a region that does not read it");
}

// Steps: the regions, then the nodes of the graph.
std::vector<ValueId> PlanVerifier::reads_of_step(int step) const {
  auto regions = static_cast<int>(plan_.regions.size());
  std::vector<ValueId> reads;
  if (step < regions) {
    for (ValueId v : plan_.regions[step].inputs)
      reads.push_back(flow_.base[v]);
  } else {
    for (ValueId v : graph_.nodes[step - regions].operands)
      reads.push_back(flow_.base[v]);
  }
  return reads;
}

// The step that makes a value; -1 for an input of the graph.
int PlanVerifier::step_of(ValueId value) {
  NodeId producer = graph_.values[value].producer;
  if (producer < 0) return -1;
  if (maker_[value] >= 0) return maker_[value];
  if (owner_[producer] >= 0) {
    report("not-handed-out", called(value) + " is read outside of its region and no output of it");
    return -1;
  }
  return static_cast<int>(plan_.regions.size()) + producer;
}

void PlanVerifier::execute() {
  enum class State : uint8_t { unseen, open, done };
  auto regions = static_cast<int>(plan_.regions.size());
  std::vector<State> state(plan_.regions.size() + graph_.nodes.size(), State::unseen);
  std::vector<int> last_region(state.size(), -1);  // the last one the step waits for, itself included
  std::vector<int> stack;
  auto push = [&](ValueId v) {
    int step = step_of(v);
    if (step >= 0 && state[step] != State::done) stack.push_back(step);
  };
  for (ValueId v : graph_.outputs)
    push(flow_.base[v]);
  while (!stack.empty()) {
    int step = stack.back();
    if (state[step] == State::unseen) {
      state[step] = State::open;
      for (ValueId v : reads_of_step(step)) {
        int needed = step_of(v);
        if (needed >= 0 && state[needed] == State::open)
          return report("circle", "steps wait for each other at " + called(v));
        push(v);
      }
      continue;
    }
    stack.pop_back();
    if (state[step] == State::done) continue;
    state[step] = State::done;
    for (ValueId v : reads_of_step(step))
      if (int needed = step_of(v); needed >= 0)
        last_region[step] = std::max(last_region[step], last_region[needed]);
    if (step >= regions) continue;
    if (last_region[step] >= step) report("order", "a region stands before one it waits for");
    last_region[step] = std::max(last_region[step], step);
  }
}

}  // namespace

std::vector<Diagnostic> verify(const Graph& graph, const Plan& plan) {
  return PlanVerifier(graph, plan).run();
}

}  // namespace autoperfect
